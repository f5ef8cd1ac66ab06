/** Llama 2 and 3, and the many that share their layer. */
export declare const llama: {
    readonly modelType: 'llama';
    readonly className: 'Llama';
    readonly norms: {
        readonly place: 'before';
        readonly attention: 'input_layernorm';
        readonly mlp: 'post_attention_layernorm';
    };
    readonly qkNorm: 'none';
    readonly biases: {
        readonly qkv: 'config';
        readonly output: 'config';
    };
    readonly slidingWindow: 'never';
    readonly defaults: {
        readonly normEps: 0.000001;
        readonly ropeTheta: 10000;
        readonly tiedEmbeddings: false;
    };
    readonly init: {
        readonly attention_bias: false;
        readonly mlp_bias: false;
        readonly rms_norm_eps: 0.00001;
        readonly rope_theta: 500000;
    };
};
