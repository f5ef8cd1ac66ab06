/** Qwen2 and Qwen2.5: biases on queries, keys and values. */
export const qwen2 = {
    modelType: 'qwen2',
    className: 'Qwen2',
    norms: { place: 'before', attention: 'input_layernorm', mlp: 'post_attention_layernorm' },
    qkNorm: 'none',
    biases: { qkv: 'always', output: 'never' },
    slidingWindow: 'switched',
    defaults: { kvHeads: 32, slidingWindow: 4096, normEps: 1e-6, ropeTheta: 10000, tiedEmbeddings: false },
    init: { use_sliding_window: false, sliding_window: null, rms_norm_eps: 1e-6, rope_theta: 1000000 },
};
//# sourceMappingURL=qwen2.js.map