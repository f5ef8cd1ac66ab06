/** Mistral 7B and its like. A config without `sliding_window` has one; those of later releases say null. */
export declare const mistral: {
    readonly modelType: 'mistral';
    readonly className: 'Mistral';
    readonly norms: {
        readonly place: 'before';
        readonly attention: 'input_layernorm';
        readonly mlp: 'post_attention_layernorm';
    };
    readonly qkNorm: 'none';
    readonly biases: {
        readonly qkv: 'never';
        readonly output: 'never';
    };
    readonly slidingWindow: 'always';
    readonly defaults: {
        readonly kvHeads: 8;
        readonly slidingWindow: 4096;
        readonly normEps: 0.000001;
        readonly ropeTheta: 10000;
        readonly tiedEmbeddings: false;
    };
    readonly init: {
        readonly sliding_window: null;
        readonly rms_norm_eps: 0.00001;
        readonly rope_theta: 1000000;
    };
};
