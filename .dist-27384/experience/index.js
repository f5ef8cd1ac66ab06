/**
 * Experience: from rewards to advantages. `deriveAdvantages` runs all steps over a rollout; each step is a pure function that can
 * be composed otherwise.
 *
 * @example
 * const { samples, info } = deriveAdvantages({ samples: rollout, options: { advantageEstimator: 'group_norm', klCoef: 0 } })
 */
export { advantageOptionProblems, advantageOptionsSchema, advantageOptionsShape, advantageOptionWarnings, pickAdvantageOptions, resolveAdvantageOptions, } from './advantage-options.js';
export { advantagesAndReturns, clipAdvantagesInPlace, discountedReturns, gaeAdvantages, whitenInPlace, } from './advantages.js';
export { clipInPlace } from './clip.js';
export { EngineLostError, RewardsLostError } from './collect.js';
export { ExperienceConfigError, experienceShape, generationShape, resolveExperienceConfig, } from './config.js';
export { defaultKlCoef, deriveAdvantages, } from './derive-advantages.js';
export { completeGroup, selectGroups, } from './dynamic-sampling.js';
export { highEntropyMask } from './entropy-filter.js';
export { advantageEstimators, estimatorHints, estimatorTraits, isGroupEstimator, } from './estimators.js';
export { FastExperienceMaker, } from './fast-experience-maker.js';
export { groupsOf } from './groups.js';
export { dataParallel, gather, paddingShare, scatter, scoreResponses } from './inference.js';
export { klEstimators, meanKl, tokenKl } from './kl.js';
export { klControllerSchema, restoreKlController, updateKlController } from './kl-controller.js';
export { ModelTurns } from './model-turns.js';
export { mergeMoments, momentsOf, noMoments, sampleStd } from './moments.js';
export { RolloutError, rolloutProblems } from './rollout-samples.js';
export { addToRunningMoments, initialRunningMoments, normalizeByRunningMoments, restoreRunningMoments, runningStd, updateRunningMoments, } from './running-moments.js';
export { allEqual, configuredOverlongPenalty, overlongPenalty, shapeGroup, shapeRewards, } from './shaping.js';
export { distribution, groupStatistics, tokenStatistics, } from './statistics.js';
export { tokenRewards } from './token-rewards.js';
//# sourceMappingURL=index.js.map