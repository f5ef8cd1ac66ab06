import { type ParseArgsConfig, parseArgs } from 'node:util'

/** The command line does not say something that can be done: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

type Options = NonNullable<ParseArgsConfig['options']>
type Values<T extends Options> = ReturnType<typeof parseArgs<{ options: T; strict: true }>>['values']

/** node's parseArgs, with a misspelt option answered by the one that was probably meant. */
export function parseOptions<const T extends Options>(args: string[], options: T): Values<T> {
  const known = Object.keys(options)
  for (const arg of args) {
    if (arg === '--') break
    const name = arg.match(/^--([^=]+)/)?.[1]
    if (name !== undefined && !known.includes(name))
      throw new UsageError(`there is no option --${name}${didYouMean(name, known, '--')}`)
  }
  try {
    return parseArgs({ args, options, strict: true, allowPositionals: false }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/** `; did you mean --json?`, or nothing when no known name is near. */
export function didYouMean(given: string, known: readonly string[], prefix = ''): string {
  const near = known
    .map(name => ({ name, distance: editDistance(given.toLowerCase(), name) }))
    .filter(
      ({ name, distance }) =>
        distance <= (name.length < 4 ? 1 : Math.max(2, Math.floor(name.length / 3))) || name.startsWith(given),
    )
    .sort((a, b) => a.distance - b.distance)[0]
  return near ? `; did you mean ${prefix}${near.name}?` : ''
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
    row = next
  }
  return row[b.length]!
}
