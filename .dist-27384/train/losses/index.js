export { aggregations, tokenTotals } from './aggregation.js';
export { entropyLoss } from './entropy.js';
export { alteredTokens, importanceProblems } from './importance.js';
export { klLoss } from './kl.js';
export { ktoLoss, ktoTotals, mergeKtoStatistics, } from './kto.js';
export { objective, objectiveShape, resolveObjectiveOptions, } from './objective.js';
export { mergePolicyStatistics, policyLoss, } from './policy.js';
export { policyLossNames, policyShapes } from './policy-options.js';
export { mergePreferenceStatistics, preferenceLoss, } from './preference.js';
export { losses } from './registry.js';
export { mergeRewardModelStatistics, rewardModelLoss, } from './reward-model.js';
export { sftLoss, sftTotals, } from './sft.js';
export { explainedVariance, mergeValueStatistics, valueLoss, } from './value.js';
//# sourceMappingURL=index.js.map