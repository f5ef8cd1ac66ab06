/** Starts vLLM and SGLang on this machine. */
export { type EngineType, LaunchError, type StartEngineOptions, type StartedEngine, startEngine } from './index.js'
