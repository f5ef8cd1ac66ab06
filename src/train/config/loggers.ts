/** The option `loggers`: names of ours, files of a user, and objects given in code. */
import { basename, extname, resolve } from 'node:path'
import { z } from 'zod'
import { didYouMean, InputError, WhetstoneError } from '../../errors/index.js'
import { isDefinitionPath } from '../../maths/index.js'
import {
  createLoggers,
  defineLogger,
  isLoggerDefinition,
  type Logger,
  type LoggerDefinition,
  type LoggerName,
  loggerNames,
  looksLikeLogger,
  type RunConfig,
} from '../../run/index.js'
import { defaultExport, kindOf } from './load-module.js'

type LoggerFile = `${string}/${string}` | `${string}.ts` | `${string}.js` | `${string}.mjs`
/** A logger as a person gives it. */
type GivenLogger = LoggerName | LoggerFile | (Omit<Logger, 'name'> & { readonly name?: string })

const entry = z
  .custom<LoggerName | LoggerDefinition>()
  .superRefine((value: unknown, context) => {
    if (isLoggerDefinition(value) || (loggerNames as readonly unknown[]).includes(value)) return
    const example = value === 'wandb' ? '; examples/loggers/wandb.ts is one for W&B' : ''
    const hint = typeof value === 'string' ? example || didYouMean(value, loggerNames) : ''
    const known = `${loggerNames.join(', ')}, a file such as ./logger.ts, or an object of functions`
    const message = isDefinitionPath(value)
      ? `${value}: the file is not loaded; call loadDefinitions of whetstone/train first`
      : `expected ${known}, got ${JSON.stringify(value)}${hint}`
    context.addIssue({ code: 'custom', message })
  })
  .meta({ anyOf: [{ enum: [...loggerNames] }, { type: 'string', pattern: String.raw`[/]|\.[cm]?[jt]s$` }] })

export const loggersOption = z
  .array(entry as unknown as z.ZodType<LoggerName | LoggerDefinition, GivenLogger>)
  .default(['tensorboard'])
  .describe(
    'loggers, which get metrics, samples and files: tensorboard, mlflow, or files with your own (defineLogger); [] for none',
  )

/** A list of loggers with files loaded and objects checked. What is not a list is left for the schema to refuse. */
export async function loadLoggers(given: unknown, directory: string): Promise<unknown> {
  if (!Array.isArray(given)) return given
  const loaded: unknown[] = []
  for (const [place, one] of given.entries())
    try {
      if (isDefinitionPath(one)) loaded.push(await loadLogger(resolve(directory, one)))
      else if (!looksLikeLogger(one) || isLoggerDefinition(one)) loaded.push(one)
      else
        loaded.push(
          defineLogger(one.name === undefined ? Object.assign(Object.create(one), { name: unnamed(place) }) : one),
        )
    } catch (error) {
      if (!(error instanceof WhetstoneError)) throw error
      throw new InputError(`loggers: ${error.message}`, { cause: error })
    }
  return loaded
}

const unnamed = (place: number): string => (place === 0 ? 'logger' : `logger${place + 1}`)

async function loadLogger(path: string): Promise<LoggerDefinition> {
  const main = await defaultExport(path)
  if (!isLoggerDefinition(main) && !looksLikeLogger(main))
    throw new InputError(`${path}: expected a default export of defineLogger, got ${kindOf(main)}`)
  const { name = basename(path, extname(path)) } = main
  const defined = isLoggerDefinition(main) ? main : defineLogger(Object.assign(Object.create(main), { name }))
  return Object.assign(Object.create(Object.getPrototypeOf(defined) as object) as LoggerDefinition, defined, {
    file: path,
  })
}

/** The loggers of a run that was recorded, for what it did not send. Those that were given in code have to be given again. */
export async function recordedLoggers(
  { config }: Pick<RunConfig, 'config'>,
  given: readonly Logger[] = [],
): Promise<Logger[]> {
  const { loggers = ['tensorboard'] } = config as { loggers?: readonly unknown[] }
  const found: (LoggerName | Logger)[] = []
  for (const one of loggers) {
    if (typeof one === 'string') {
      const [loaded] = (await loadLoggers([one], process.cwd())) as (LoggerName | Logger)[]
      found.push(loaded!)
      continue
    }
    const { name } = one as { name: string }
    const same = given.find(logger => logger.name === name)
    if (!same)
      throw new InputError(`loggers: ${name} was given in code`, {
        remedy: 'Send the rest from the program that has it: syncRun(directory, [logger]) of whetstone/run.',
      })
    found.push(same)
  }
  return createLoggers(found)
}
