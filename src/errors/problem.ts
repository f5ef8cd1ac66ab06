/** One thing that is wrong with a config or a row, for programs. Messages for people have the same facts in words. */
export interface Problem {
  /** What is wrong, in one line. */
  readonly message: string
  /** The file it is in, or what gave the option, such as `--set`. */
  readonly file?: string
  /** From 1. Undefined where the file has no lines, or the option is missing. */
  readonly line?: number
  /** A dotted option, or a column. */
  readonly path?: string
  /** What would be right, in words. */
  readonly expected?: string
  /** What was found, as it was written. */
  readonly got?: string
  /** What to do. */
  readonly hint?: string
}

/**
 * A message of the form `path: what is wrong; what to do` as a problem.
 *
 * @example
 * problemOf('prompt: expected text, got 3; quote it') // { path: 'prompt', expected: 'text', got: '3', hint: 'quote it', ... }
 */
export function problemOf(message: string): Problem {
  const path = /^[\w.[\]-]+(?=: )/.exec(message)?.[0]
  const rest = path === undefined ? message : message.slice(path.length + 2)
  const parts = /^expected (?<expected>.+?)(?:, got (?<got>.+?))?(?:; (?<hint>.+))?$/s.exec(rest)?.groups
  const hint = parts ? parts.hint : /; (.+)$/s.exec(rest)?.[1]
  return withoutUndefined({ message, path, expected: parts?.expected, got: parts?.got, hint })
}

/** The problem of a row, whose place is `FILE:12` or `FILE, row 3`. */
export function rowProblem(where: string, message: string): Problem {
  const [, file = where, line] = /^(.*?)(?::(\d+)|, row \d+)$/s.exec(where) ?? []
  return withoutUndefined({ ...problemOf(message), file, line: line === undefined ? undefined : Number(line) })
}

/** Fields that are not known are not there. */
function withoutUndefined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}
