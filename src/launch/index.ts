/** Starting servers that are installed on this machine, and ending them with whoever started them. */
export { LaunchError } from './errors.js'
export { findCommand } from './find-command.js'
export { installedVersion } from './installed-version.js'
export type { EngineType } from './invocation.js'
export { isLoopback } from './invocation.js'
export type { ServerExit } from './server-process.js'
export { type EngineProgress, type StartEngineOptions, type StartedEngine, startEngine } from './start-engine.js'
