import { WhetstoneError } from '../errors/index.js';
/**
 * A reason setup cannot go on, in words for the person in front of it: what happened, and what to do about it.
 *
 * @example throw new SetupError('No C++ compiler was found.', 'Install one, for example: sudo apt install g++')
 */
export class SetupError extends WhetstoneError {
    name = 'SetupError';
    constructor(message, remedy, options = {}) {
        super(message, { ...options, remedy });
    }
}
/** The system's short name for an error (`ENOSPC`, `ENOTFOUND`, ...), where it has one. */
export function errorCode(error) {
    const code = error instanceof Error ? error.code : undefined;
    return typeof code === 'string' ? code : undefined;
}
export function diskFull(where, cause) {
    return new SetupError(`The disk is full: ${where} could not be written.`, 'Free some space, or set WHETSTONE_CACHE to a directory on a disk that has room, and run `npx whetstone setup`.', { cause });
}
/** Gives the file-system errors that any step can meet their one message; everything else passes through as it is. */
export function attributeDiskError(error, where) {
    switch (errorCode(error)) {
        case 'ENOSPC':
        case 'EDQUOT':
            return diskFull(where, error);
        case 'EACCES':
        case 'EPERM':
        case 'EROFS':
            return new SetupError(`${where} cannot be written (${errorCode(error)}).`, 'Make it writable for this user, or set WHETSTONE_CACHE to a directory that is, and run `npx whetstone setup`.', { cause: error });
        default:
            return error;
    }
}
//# sourceMappingURL=errors.js.map