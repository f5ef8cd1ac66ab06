/** Finding or fetching libtorch, and building the bridge to it. */
export { packageRoot, readBridgeRecord } from './bridge-record.js';
export { SetupError } from './errors.js';
export { setup } from './setup.js';
//# sourceMappingURL=index.js.map