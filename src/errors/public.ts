/** What errors are. */
export { ConfigError, type ErrorCode, errorCodes, InputError, type Problem, WhetstoneError } from './index.js'
