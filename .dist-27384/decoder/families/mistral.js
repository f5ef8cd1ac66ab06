/** Mistral 7B and its like. A config without `sliding_window` has one; those of later releases say null. */
export const mistral = {
    modelType: 'mistral',
    className: 'Mistral',
    norms: { place: 'before', attention: 'input_layernorm', mlp: 'post_attention_layernorm' },
    qkNorm: 'none',
    biases: { qkv: 'never', output: 'never' },
    slidingWindow: 'always',
    defaults: { kvHeads: 8, slidingWindow: 4096, normEps: 1e-6, ropeTheta: 10000, tiedEmbeddings: false },
    init: { sliding_window: null, rms_norm_eps: 1e-5, rope_theta: 1000000 },
};
//# sourceMappingURL=mistral.js.map