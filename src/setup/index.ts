/** Finding or fetching libtorch, and building the bridge to it. */
export { packageRoot, readBridgeRecord } from './bridge-record.js'
export { setup } from './setup.js'
