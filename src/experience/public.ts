/** Experience generation: prompts in, experiences with advantages out. */
export {
  type Dropped,
  type DropReason,
  EngineLostError,
  type Experience,
  type ExperienceBatch,
  ExperienceConfigError,
  type ExperienceInfo,
  type ExperienceState,
  FastExperienceMaker,
  type FastExperienceMakerOptions,
  type MakeOptions,
  ModelTurns,
  RewardsLostError,
} from './index.js'
