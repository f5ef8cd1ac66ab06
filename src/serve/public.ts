/** OpenAI's API over any `Generator`. */
export { type ControlOptions, type LogprobsMode, ModelServer, type ServeOptions } from './index.js'
