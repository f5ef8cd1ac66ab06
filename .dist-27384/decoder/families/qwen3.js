/** Qwen3's dense models: each head of queries and keys is normalised, and a head's width does not follow from the rest. */
export const qwen3 = {
    modelType: 'qwen3',
    className: 'Qwen3',
    norms: { place: 'before', attention: 'input_layernorm', mlp: 'post_attention_layernorm' },
    qkNorm: 'head',
    biases: { qkv: 'config', output: 'config' },
    slidingWindow: 'switched',
    defaults: { kvHeads: 32, headDim: 128, slidingWindow: 4096, normEps: 1e-6, ropeTheta: 10000, tiedEmbeddings: false },
    init: {
        attention_bias: false,
        use_sliding_window: false,
        sliding_window: null,
        rms_norm_eps: 1e-6,
        rope_theta: 1000000,
    },
};
//# sourceMappingURL=qwen3.js.map