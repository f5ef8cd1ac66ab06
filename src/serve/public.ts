/** OpenAI's API over any `Generator`, and agents that ask it. */
export {
  type AgentFunctionOptions,
  type AgentOptions,
  type AgentProgramOptions,
  type AgentRun,
  agentEnvironment,
  type ControlOptions,
  type LogprobsMode,
  type MediaOptions,
  ModelServer,
  type RecordOptions,
  type ServeOptions,
} from './index.js'
