/** The front door: every task as a function. */

export { resolveEpisodes, startEpisodes } from './episodes.js'
export * from './evaluate.js'
export * from './experience.js'
export { type ExperienceFile, experienceOptions, experienceSchema, resolveExperience } from './experience-config.js'
export * from './export.js'
export { type GenerateOptions, type GeneratePrompt, generate } from './generate.js'
export { type Downloaded, type DownloadOptions, download, type PushOptions, push } from './hub.js'
export { type ImportModelOptions, importModel } from './import.js'
export { locateGiven } from './locate-given.js'
export { type Replayed, type ReplayOptions, replay } from './replay.js'
export type { RewardFunction, Rewards } from './reward-parts.js'
export { attributed, startTraining } from './run-training.js'
export type { GeneratedSample } from './samples-in-order.js'
export { type Scored, type ScoreRow, type ScoreRowsOptions, score } from './score.js'
export { type ServedMedia, type ServeOptions, type Serving, serve } from './serve.js'
export type { Rows } from './spool-rows.js'
export {
  type Data,
  type DpoOptions,
  dpo,
  grpo,
  type Model,
  ppo,
  type RewardModelOptions,
  type RlOptions,
  type RunOptions,
  rewardModel,
  rl,
  type SftOptions,
  sft,
} from './train.js'
export * from './training-run.js'
