import { isSystemError, systemProblem, WhetstoneError } from '../errors/index.js'

/** Errors for people are printed without a stack; any other error is a bug and is printed with its stack. */
export function explain(error: unknown): string {
  if (error instanceof WhetstoneError) return error.remedy ? `${error.message}\n${error.remedy}` : error.message
  if (!(error instanceof Error)) return String(error)
  if (isOutOfMemory(error)) return memoryProblem(error)
  if (isSystemError(error)) return fileProblem(error)
  if (hasNul(error)) return nulProblem(error)
  return error.stack ?? error.message
}

/** By name: the tensor room is loaded only for the verbs that compute. The others are V8's, for buffers and texts too large. */
function isOutOfMemory({ name, message }: Error): boolean {
  if (name === 'OutOfMemoryError') return true
  return name === 'RangeError' && /^(Array buffer allocation failed|Invalid (array buffer|string) length)/.test(message)
}

function memoryProblem({ message }: Error): string {
  // Operator arguments do not help a user to save memory.
  const [, asked] = message.match(/out of memory: (.*?)(?: \(.*)?$/ims) ?? []
  return (
    `out of memory: ${asked ?? message}\n` +
    'To save memory: smaller batches, a smaller tokenBudget, gradientCheckpointing or lora. docs/out-of-memory.md explains each option.'
  )
}

/** The system calls that make or change something. */
const writes = new Set([
  'write',
  'mkdir',
  'rename',
  'link',
  'symlink',
  'unlink',
  'rmdir',
  'ftruncate',
  'fsync',
  'fdatasync',
])

function fileProblem(error: NodeJS.ErrnoException): string {
  if (error.code === 'EPIPE') return 'the reader of the output closed it'
  // A directory that cannot be made is missing the one it lies in.
  const doing = writes.has(error.syscall ?? '') && error.code !== 'ENOENT' ? 'write' : 'read'
  return `${error.path === undefined ? '' : `${error.path}: `}${systemProblem(error, doing)}`
}

/** node's own check of paths. */
function hasNul(error: Error): boolean {
  return 'code' in error && error.code === 'ERR_INVALID_ARG_VALUE' && error.message.includes('without null bytes')
}

function nulProblem({ message }: Error): string {
  const [, path = ''] = message.match(/Received '(.*)'$/s) ?? []
  return `the path ${JSON.stringify(path.replaceAll('\\x00', '\0'))} has a NUL character in it`
}
