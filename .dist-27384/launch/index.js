/** Starting servers that are installed on this machine, and ending them with whoever started them. */
export { LaunchError } from './errors.js';
export { findCommand } from './find-command.js';
export { installedVersion } from './installed-version.js';
export { isLoopback } from './invocation.js';
export { startEngine } from './start-engine.js';
//# sourceMappingURL=index.js.map