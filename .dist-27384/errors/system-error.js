/** What the operating system refused, in words. */
export function isSystemError(error) {
    return error instanceof Error && 'syscall' in error && 'code' in error;
}
const common = {
    ENOTDIR: 'a part of the path is a file, not a directory',
    ELOOP: 'a symbolic link leads back to itself',
    ENAMETOOLONG: 'the name is too long for the file system',
    EMFILE: 'the process has too many open files; raise the limit (`ulimit -n`)',
    ENFILE: 'the machine has too many open files',
    EIO: 'the disk reports an error (EIO)',
    EROFS: 'the file system is read-only; choose another directory',
    ENOSPC: 'the disk is full: no space left there (free some, or choose another directory)',
    EDQUOT: 'your disk quota is used up: no space left there (free some, or choose another directory)',
};
const reading = {
    ENOENT: 'there is no such file or directory',
    EISDIR: 'it is a directory, and a file is needed',
    EACCES: 'no permission to read it',
    EPERM: 'no permission to read it',
};
const writing = {
    ENOENT: 'its directory does not exist',
    EISDIR: 'a directory has that name',
    EACCES: 'no permission to write there; choose another directory, or change its permissions',
    EPERM: 'no permission to write there; choose another directory, or change its permissions',
    EPIPE: 'its reader has gone',
};
/**
 * What is wrong with a file: the operating system's code in words, with what to do about it. The message of any other error.
 *
 * @example
 * const why = systemProblem(Object.assign(new Error(), { code: 'EISDIR' }), 'write') // 'a directory has that name'
 */
export function systemProblem(cause, doing) {
    if (!(cause instanceof Error))
        return String(cause);
    const { code = '', message } = cause;
    return (doing === 'read' ? reading : writing)[code] ?? common[code] ?? message;
}
//# sourceMappingURL=system-error.js.map