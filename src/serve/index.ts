/** An OpenAI-compatible server over the local engine. */
export { type LogprobsMode, logprobsModes } from './logprobs-mode.js'
export type { MediaOptions } from './request-media.js'
export { type ControlOptions, ModelServer, type ServeOptions } from './server.js'
