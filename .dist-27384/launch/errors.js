import { WhetstoneError } from '../errors/index.js';
/** A server that could not be started, with what it said last. */
export class LaunchError extends WhetstoneError {
    name = 'LaunchError';
}
//# sourceMappingURL=errors.js.map