/** Qwen3's dense models: each head of queries and keys is normalised, and a head's width does not follow from the rest. */
export declare const qwen3: {
    readonly modelType: 'qwen3';
    readonly className: 'Qwen3';
    readonly norms: {
        readonly place: 'before';
        readonly attention: 'input_layernorm';
        readonly mlp: 'post_attention_layernorm';
    };
    readonly qkNorm: 'head';
    readonly biases: {
        readonly qkv: 'config';
        readonly output: 'config';
    };
    readonly slidingWindow: 'switched';
    readonly defaults: {
        readonly kvHeads: 32;
        readonly headDim: 128;
        readonly slidingWindow: 4096;
        readonly normEps: 0.000001;
        readonly ropeTheta: 10000;
        readonly tiedEmbeddings: false;
    };
    readonly init: {
        readonly attention_bias: false;
        readonly use_sliding_window: false;
        readonly sliding_window: null;
        readonly rms_norm_eps: 0.000001;
        readonly rope_theta: 1000000;
    };
};
