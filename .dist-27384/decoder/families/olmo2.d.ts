/** OLMo 2: norms behind attention and MLP, on what they add, and one norm over all heads of the queries and of the keys. */
export declare const olmo2: {
    readonly modelType: 'olmo2';
    readonly className: 'Olmo2';
    readonly norms: {
        readonly place: 'after';
        readonly attention: 'post_attention_layernorm';
        readonly mlp: 'post_feedforward_layernorm';
    };
    readonly qkNorm: 'projection';
    readonly biases: {
        readonly qkv: 'config';
        readonly output: 'config';
    };
    readonly slidingWindow: 'never';
    readonly defaults: {
        readonly normEps: 0.00001;
        readonly ropeTheta: 10000;
        readonly tiedEmbeddings: false;
    };
    readonly init: {
        readonly attention_bias: false;
        readonly rms_norm_eps: 0.000001;
        readonly rope_theta: 500000;
    };
};
