/** OLMo 2: norms behind attention and MLP, on what they add, and one norm over all heads of the queries and of the keys. */
export const olmo2 = {
    modelType: 'olmo2',
    className: 'Olmo2',
    norms: { place: 'after', attention: 'post_attention_layernorm', mlp: 'post_feedforward_layernorm' },
    qkNorm: 'projection',
    biases: { qkv: 'config', output: 'config' },
    slidingWindow: 'never',
    defaults: { normEps: 1e-5, ropeTheta: 10000, tiedEmbeddings: false },
    init: { attention_bias: false, rms_norm_eps: 1e-6, rope_theta: 500000 },
};
//# sourceMappingURL=olmo2.js.map