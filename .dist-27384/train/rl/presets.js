const group = { nSamplesPerPrompt: 8 };
const noKl = { klController: { kind: 'fixed', coef: 0 } };
const klLoss = { useKlLoss: true, klEstimator: 'k3' };
export const presets = {
    /** A critic, GAE, the clipped ratio, KL in the rewards, and several passes over each rollout. */
    ppo: { advantageEstimator: 'gae', loss: 'ppo', updateEpochs: 4 },
    /** Rewards normalised within the samples of a prompt; KL as a loss. */
    grpo: { advantageEstimator: 'group_norm', loss: 'ppo', ...group, ...klLoss },
    /** Each sample against the mean of the others of its prompt; KL in the rewards. */
    rloo: { advantageEstimator: 'rloo', loss: 'ppo', ...group },
    /** Returns as they are. */
    reinforce: { advantageEstimator: 'reinforce', loss: 'ppo' },
    /** Returns normalised over the whole batch. */
    'reinforce++': { advantageEstimator: 'reinforce', loss: 'ppo', advantagesNorm: true },
    /** Each sample against the mean of its prompt, normalised over the whole batch. */
    reinforce_baseline: { advantageEstimator: 'reinforce_baseline', loss: 'ppo', ...group, advantagesNorm: true },
    /** GRPO without its two biases: no division by the group's deviation, none by the response's length. */
    dr_grpo: {
        advantageEstimator: 'dr_grpo',
        loss: 'ppo',
        ...group,
        aggregation: 'seq-mean-token-sum-norm',
        ...noKl,
    },
    /** Clip-higher, means over tokens, dynamic sampling, soft punishment of length, no KL. */
    dapo: {
        advantageEstimator: 'group_norm',
        loss: 'ppo',
        ...group,
        clipHigh: 0.28,
        aggregation: 'token-mean',
        dynamicSampling: true,
        overlongBuffer: true,
        ...noKl,
    },
    /** Ratios of whole sequences, clipped within a hair's breadth. */
    gspo: { advantageEstimator: 'group_norm', loss: 'gspo', ...group, clipLow: 3e-4, clipHigh: 4e-4, ...noKl },
    /** Geometric mean of the tokens' ratios. */
    gmpo: { advantageEstimator: 'group_norm', loss: 'gmpo', ...group, clipLow: 0.4, clipHigh: 0.4, ...noKl },
    /** Clipped importance weights instead of clipped losses: every token keeps its gradient. */
    cispo: {
        advantageEstimator: 'group_norm',
        loss: 'cispo',
        ...group,
        clipLow: 1,
        clipHigh: 4,
        aggregation: 'token-mean',
        ...noKl,
    },
    /** Clipped policy gradient with drift. */
    cpgd: { advantageEstimator: 'cpgd', loss: 'cpg', ...group, driftCoef: 0.1, ...noKl },
};
export const algorithms = Object.keys(presets);
//# sourceMappingURL=presets.js.map