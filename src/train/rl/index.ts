export {
  type Algorithm,
  type AlgorithmDefinition,
  algorithmNames,
  algorithms,
  defineAlgorithm,
} from './algorithms.js'
export {
  type RlConfig,
  resolveRlConfig,
  rlPaths,
  rlSchema,
  rlShape,
  rlWords,
} from './config.js'
export { rlIdle } from './idle-options.js'
export { prepareRl, runRl } from './job.js'
export { type RlLoopOptions, type RlLoopResult, trainRl } from './loop.js'
export type { PolicyAverage, RlParts } from './parts.js'
export { type ReplayReport, replayRl } from './replay.js'
export { planRl } from './training-plan.js'
export {
  type CriticUpdate,
  type CriticUpdateOptions,
  type PolicyUpdate,
  type PolicyUpdateOptions,
  updateCritic,
  updatePolicy,
} from './update.js'
