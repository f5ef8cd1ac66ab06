export { type Act, actText, knownActs } from './acts.js'
export {
  type Algorithm,
  type AlgorithmDefinition,
  algorithmNames,
  algorithmOf,
  algorithms,
  defineAlgorithm,
} from './algorithms.js'
export { type RlConfig, resolveRlConfig, rlSchema } from './config.js'
export { rlIdle } from './idle-options.js'
export { runRl } from './job.js'
export { trainRl } from './loop.js'
export { replayRl } from './replay.js'
export { type ReplayedExperience, type ReplayedExperiences, replayedExperiences } from './replayed-experiences.js'
export { planRl } from './training-plan.js'
export type { Trajectory } from './trajectories.js'
export { type TriedEpisode, tryEpisodes } from './try-episodes.js'
export * from './update.js'
