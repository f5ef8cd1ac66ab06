/** What the operating system refused, in words. */
export declare function isSystemError(error: unknown): error is NodeJS.ErrnoException;
/**
 * What is wrong with a file: the operating system's code in words, with what to do about it. The message of any other error.
 *
 * @example
 * const why = systemProblem(Object.assign(new Error(), { code: 'EISDIR' }), 'write') // 'a directory has that name'
 */
export declare function systemProblem(cause: unknown, doing: 'read' | 'write'): string;
