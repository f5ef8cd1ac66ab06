/** Agents that own the loop: their calls to the policy become episodes. */
export {
  type ChatAnswer,
  type ChatChoice,
  type ChatRequest,
  type ClientCall,
  type Policy,
  PolicyError,
  Recorder,
  type RecorderWorld,
} from './recorder.js'
export { type AskedTools, ToolSets } from './tool-sets.js'
