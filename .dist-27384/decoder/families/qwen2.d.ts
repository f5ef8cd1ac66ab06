/** Qwen2 and Qwen2.5: biases on queries, keys and values. */
export declare const qwen2: {
    readonly modelType: 'qwen2';
    readonly className: 'Qwen2';
    readonly norms: {
        readonly place: 'before';
        readonly attention: 'input_layernorm';
        readonly mlp: 'post_attention_layernorm';
    };
    readonly qkNorm: 'none';
    readonly biases: {
        readonly qkv: 'always';
        readonly output: 'never';
    };
    readonly slidingWindow: 'switched';
    readonly defaults: {
        readonly kvHeads: 32;
        readonly slidingWindow: 4096;
        readonly normEps: 0.000001;
        readonly ropeTheta: 10000;
        readonly tiedEmbeddings: false;
    };
    readonly init: {
        readonly use_sliding_window: false;
        readonly sliding_window: null;
        readonly rms_norm_eps: 0.000001;
        readonly rope_theta: 1000000;
    };
};
