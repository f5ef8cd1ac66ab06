/** What errors are. */
export { InputError, WhetstoneError } from './index.js'
