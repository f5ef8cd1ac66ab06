/** An OpenAI-compatible server over the local engine. */
export { type LogprobsMode, logprobsModes } from './logprobs-mode.js'
export {
  type AgentFunctionOptions,
  type AgentOptions,
  type AgentProgramOptions,
  type AgentRun,
  agentEnvironment,
  agentShape,
} from './recorder/agent-environment.js'
export type { RecordOptions } from './recorder/recorded-sessions.js'
export type { MediaOptions } from './request-media.js'
export { type ControlOptions, ModelServer, type ServeOptions } from './server.js'
