import { type ParseArgsConfig, parseArgs } from 'node:util'
import { didYouMean } from '../errors/index.js'

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
