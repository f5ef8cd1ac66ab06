/** Errors of the operating system in words. */

export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error
}

const common: Readonly<Record<string, string>> = {
  ENOTDIR: 'a part of the path is a file, not a directory',
  ELOOP: 'a symbolic link leads back to itself',
  ENAMETOOLONG: 'the name is too long for the file system',
  EMFILE: 'the process has too many open files; raise the limit (`ulimit -n`)',
  ENFILE: 'the machine has too many open files',
  EIO: 'the disk reports an error (EIO)',
  EROFS: 'the file system is read-only; choose another directory',
  ENOSPC: 'the disk is full: no space left (free some, or choose another directory)',
  EDQUOT: 'your disk quota is used up: no space left (free some, or choose another directory)',
}

const reading: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  EISDIR: 'it is a directory; expected a file',
  EACCES: 'no permission to read it',
  EPERM: 'no permission to read it',
}

const writing: Readonly<Record<string, string>> = {
  ENOENT: 'its directory does not exist',
  EISDIR: 'a directory has that name',
  EACCES: 'no permission to write; choose another directory, or change its permissions',
  EPERM: 'no permission to write; choose another directory, or change its permissions',
  EPIPE: 'its reader has gone',
}

/**
 * Explains the error code of a file operation and what to do. Other errors: their message.
 *
 * @example
 * const why = systemProblem(Object.assign(new Error(), { code: 'EISDIR' }), 'write') // 'a directory has that name'
 */
export function systemProblem(cause: unknown, doing: 'read' | 'write'): string {
  if (!(cause instanceof Error)) return String(cause)
  const { code = '', message } = cause as NodeJS.ErrnoException
  return (doing === 'read' ? reading : writing)[code] ?? common[code] ?? message
}
