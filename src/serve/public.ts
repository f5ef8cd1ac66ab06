/** OpenAI's API over any `Generator`. */
export { type ControlOptions, type LogprobsMode, type MediaOptions, ModelServer, type ServeOptions } from './index.js'
