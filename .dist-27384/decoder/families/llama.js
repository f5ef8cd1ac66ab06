/** Llama 2 and 3, and the many that share their layer. */
export const llama = {
    modelType: 'llama',
    className: 'Llama',
    norms: { place: 'before', attention: 'input_layernorm', mlp: 'post_attention_layernorm' },
    qkNorm: 'none',
    biases: { qkv: 'config', output: 'config' },
    slidingWindow: 'never',
    defaults: { normEps: 1e-6, ropeTheta: 10000, tiedEmbeddings: false },
    init: { attention_bias: false, mlp_bias: false, rms_norm_eps: 1e-5, rope_theta: 500000 },
};
//# sourceMappingURL=llama.js.map