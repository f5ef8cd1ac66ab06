/** Finding or fetching libtorch, and building the bridge to it. */
export { type BridgeRecord, packageRoot, readBridgeRecord } from './bridge-record.js'
export { SetupError } from './errors.js'
export { setup } from './setup.js'
