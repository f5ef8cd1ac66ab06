/** What `sft`, `reward train`, `rl` and `dpo` have in common: configs in layers, dry runs, Ctrl-C, resume, what to do next. */
import { constants, existsSync } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { InputError, systemProblem, WhetstoneError } from '../errors/index.js'
import { readConfigFile } from '../files/index.js'
import { type Report, reportFor } from '../progress/index.js'
import { Run, RunError } from '../run/index.js'
import {
  type CheckedModels,
  type ConfigLayer,
  checkData,
  checkModels,
  configOptions,
  fileLayer,
  type JobOptions,
  type JobResult,
  type RawConfig,
  type ResolvedConfig,
  settingsLayer,
  type TrainingPlan,
  withOrigin,
} from '../train/index.js'
import { dryRunReport } from './dry-run.js'
import { file, flagHelp, readFlags, settings, several, toggle, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'
import { resolvedConfig } from './resolved-config.js'
import type { Verb } from './verbs.js'

/** One kind of training, as a command sees it. */
export interface Training<C> {
  /** What is typed behind `whetstone`. */
  readonly verb: string
  /** What it does, for the help. */
  readonly about: string
  /** The shortest config. */
  readonly example: string
  readonly schema: z.ZodObject
  readonly resolve: (layers: readonly ConfigLayer[]) => ResolvedConfig<C> & { readonly notes?: readonly string[] }
  readonly plan: (config: C) => TrainingPlan
  readonly run: (job: JobOptions<C>) => Promise<JobResult>
  /** What to do with the model in a directory: commands and their like, a line each. */
  readonly next: (model: string) => readonly string[]
}

const flags = z.object({
  config: file('the config'),
  set: settings(),
  dryRun: toggle('check config, data and models, estimate the memory, print the options in force, and stop'),
  resume: toggle('go on with the run in the output directory'),
  allowChange: several('KEY', 'an option that a resumed run may have otherwise; several times for several'),
})
type Settings = z.output<typeof flags>

export function trainCommand<C extends { readonly output: string }>(training: Training<C>): Verb {
  return { help: helpOf(training), run: args => runCommand(training, args) }
}

async function runCommand<C extends { readonly output: string }>(
  training: Training<C>,
  args: readonly string[],
): Promise<number> {
  const settings = readFlags(args, flags)
  const { config: path, resume = false } = settings
  const given = fileLayer(path, await readConfigFile(path))
  const resolved = training.resolve([given, commandLine(settings)])
  const { output } = resolved.config
  const report = reportFor(process.env)
  return interruptible({
    work: signal =>
      attributed(resolved.origins, async () => {
        await checkOutput(output, resume ? 'resume' : 'start', report)
        return train(training, settings, resolved, { report, signal })
      }),
    onInterrupt: () => report.line(interruptedLine(output, training.verb, args)),
  })
}

type Surroundings = Pick<JobOptions<unknown>, 'report' | 'signal'>

async function train<C>(
  training: Training<C>,
  { resume = false, dryRun = false, allowChange = [] }: Settings,
  { config, origins, notes = [] }: ReturnType<Training<C>['resolve']>,
  { report, signal }: Surroundings,
): Promise<number> {
  const plan = training.plan(config)
  const models = await checkModels(plan)
  for (const note of notes) report.line(note)
  if (dryRun) return dry({ config: config as RawConfig, origins }, plan, models, { report, signal })
  signal.addEventListener('abort', () => report.line(stopping), { once: true })
  const result = await training.run({ config, origins, resume, allowChange, report, signal })
  if (result.outcome === 'stopped') signal.throwIfAborted()
  for (const line of await afterwards(training, result)) report.line(line)
  return result.step === 0 ? 1 : 0
}

/** An error about an option says which file, or which part of the command line, gave it. */
async function attributed<T>(origins: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof WhetstoneError)) throw error
    const message = withOrigin(error.message, origins)
    if (message === error.message) throw error
    throw new InputError(message, { cause: error, ...(error.remedy === undefined ? {} : { remedy: error.remedy }) })
  }
}

function interruptedLine(output: string, verb: string, args: readonly string[]): string {
  if (args.includes('--dry-run') || !existsSync(join(output, 'config.json'))) return 'Interrupted. Nothing was written.'
  return `Interrupted. What was trained is saved in ${output}; to go on with it:\n  ${resumeLine(verb, args)}`
}

const stopping = 'Finishing this step, then saving. Ctrl-C again stops at once; what was not saved is then lost.'

function commandLine({ set = [] }: Settings): ConfigLayer {
  try {
    return settingsLayer(set)
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

/**
 * Before anything is read: the directory of the run is one, and holds none where one is to start. A process that died at the very
 * beginning left none to resume; it starts then.
 */
async function checkOutput(output: string, intent: 'start' | 'resume', report: Report): Promise<void> {
  const found = await stat(output).catch(() => undefined)
  if (found && !found.isDirectory())
    throw new InputError(`output: ${output} is a file; a run needs a directory of its own`)
  const existing = found ? resolve(output) : await existingAncestor(dirname(resolve(output)))
  // The dot: what is there may be a file.
  await access(`${existing}/.`, constants.W_OK).catch((cause: unknown) => {
    throw new InputError(`output: ${output}: ${systemProblem(cause, 'write')}`, { cause })
  })
  const holdsRun = await Run.isIn(output).catch((error: unknown) => {
    if (!(error instanceof RunError)) throw error
    throw new InputError(`output: ${error.message}`, {
      cause: error,
      ...(error.remedy === undefined ? {} : { remedy: error.remedy }),
    })
  })
  if (intent === 'resume' && !holdsRun) report.line(`${output} holds no run yet: it starts from the beginning.`)
  if (intent === 'start' && holdsRun)
    throw new InputError(`output: ${output} holds a run already`, {
      remedy: 'Go on with it by --resume, or give the new run a directory of its own: --set output=DIR.',
    })
}

/** The nearest of a directory and those above it that is there. */
async function existingAncestor(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  return found || dirname(path) === path ? path : existingAncestor(dirname(path))
}

async function dry(
  { config, origins }: ResolvedConfig<RawConfig>,
  plan: TrainingPlan,
  models: CheckedModels,
  { report, signal }: Surroundings,
): Promise<number> {
  const data = await checkData(plan, { tokenizer: models.tokenizer, signal })
  process.stdout.write(`${resolvedConfig(config, origins)}\n`)
  for (const line of dryRunReport({ plan, models, data })) report.line(line)
  return 0
}

/** Where the models are, and how to use them. */
async function afterwards<C>(training: Training<C>, { directory, best, step }: JobResult): Promise<string[]> {
  const final = join(directory, 'final_model')
  const isThere = await stat(final).catch(() => undefined)
  if (step === 0) return [`Nothing was trained: ${join(directory, 'logs/skipped.jsonl')} says why.`]
  return [
    ...(isThere ? [`${final}: the model after ${step} steps`] : []),
    ...(best
      ? [`${join(directory, 'best_model')}: the best, of step ${best.step} (${best.metric} ${shown(best.value)})`]
      : []),
    ...(isThere ? training.next(final).map(line => `  ${line}`) : []),
  ]
}

const shown = (value: number): string => String(Number(value.toPrecision(4)))

/** The command that goes on, to be typed as it is. */
export function resumeLine(verb: string, args: readonly string[]): string {
  const quoted = args
    .filter(arg => arg !== '--resume')
    .map(arg => (/^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`))
  return ['whetstone', verb, ...quoted, '--resume'].join(' ')
}

function helpOf<C>({ verb, about, example, schema }: Training<C>): string {
  const options = configOptions(schema)
  const column = Math.max(...options.map(({ name }) => name.length)) + 2
  const described = options.map(({ name, initial, description }) => {
    const shownInitial = initial === undefined ? '' : ` (default ${initial})`
    return `  ${name.padEnd(column)}${description}${shownInitial}`
  })
  return `Usage: whetstone ${verb} --config FILE [--set KEY=VALUE ...] [--dry-run] [--resume] [--allow-change KEY ...]

${about}

The config is YAML, JSON, or a TypeScript module whose default export it is; paths in it are relative to it. The shortest:

${example.replaceAll(/^/gm, '  ')}

${flagHelp(flags)}

Ctrl-C finishes the current optimiser step, saves and says how to go on; a second one stops at once.

Options of the config, dots for sections (docs/training.md explains them, \`whetstone schema\` prints them for editors):

${described.join('\n')}
`
}
