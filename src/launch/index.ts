/** Starts servers that are installed on this machine, and ends them with this process. */
export { LaunchError } from './errors.js'
export { findCommand, installedVersion } from './find-command.js'
export type { EngineType } from './invocation.js'
export { isLoopback } from './invocation.js'
export { type StartEngineOptions, type StartedEngine, startEngine } from './start-engine.js'
