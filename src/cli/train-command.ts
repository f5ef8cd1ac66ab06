/** What `sft`, `reward train`, `rl` and `dpo` have in common: configs in layers, dry runs, Ctrl-C, resume, what to do next. */
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { InputError, refuse, WhetstoneError } from '../errors/index.js'
import { checkNewDirectory, readConfigFile } from '../files/index.js'
import { type Report, reportFor } from '../progress/index.js'
import { Run } from '../run/index.js'
import {
  type CheckedTraining,
  fileLayer,
  idleOptions,
  type JobOptions,
  type JobResult,
  MachineError,
  type RawConfig,
  type ResolvedConfig,
  type ResolvedTraining,
  type Training,
  type TrainingConfig,
  type TrainingName,
  trainings,
  withOrigin,
} from '../train/index.js'
import { type DryRun, dryRunReport, memoryReport } from './dry-run.js'
import { file, flagHelp, readFlags, settings, several, toggle } from './flags.js'
import { interruptible, orInterrupted } from './interrupt.js'
import { optionHelp, resolvedConfig } from './resolved-config.js'
import { setLayer } from './set-layer.js'
import type { Verb } from './verbs.js'

const flags = z.object({
  config: file('the config'),
  set: settings(),
  dryRun: toggle('check config, data and models, estimate the memory, print the resolved options, and stop'),
  resume: toggle('resume the run in the output directory'),
  allowChange: several('KEY', 'allow a resumed run to change this option; repeat for more'),
})
type Settings = z.output<typeof flags>

export function trainCommand(name: TrainingName): Verb {
  const training: Training = trainings[name]
  return { help: helpOf(training), run: args => runCommand(training, args) }
}

async function runCommand(training: Training, args: readonly string[]): Promise<number> {
  const settings = readFlags(args, flags)
  const { config: path, resume = false } = settings
  const given = fileLayer(path, await readConfigFile(path))
  const resolved = training.resolve([given, setLayer(settings.set ?? [])])
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

async function train(
  training: Training,
  { resume = false, dryRun = false, allowChange = [] }: Settings,
  { config, origins, notes = [] }: ResolvedTraining<TrainingConfig>,
  { report, signal }: Surroundings,
): Promise<number> {
  const job = { config, origins, resume, allowChange, report, signal }
  const said = (): void => {
    for (const note of [...notes, ...idleOptions({ config, origins }, training.idle)]) report.line(note)
  }
  if (dryRun) {
    const onChecked = async ({ models, data, countTooLong }: CheckedTraining): Promise<'stop'> => {
      const tooLong = await countTooLong()
      said()
      const counted = data.map((one, i) => ({ ...one, ...(tooLong[i] ? { tooLong: tooLong[i] } : {}) }))
      showChecked({ config: config as RawConfig, origins }, { models, data: counted }, report)
      return 'stop'
    }
    const checks = training.run({ ...job, onChecked }).catch(error => showMachine(error, report))
    await orInterrupted(signal, () => true, checks)
    return 0
  }
  let checking = true
  const onChecked = (): 'train' => {
    checking = false
    said()
    signal.addEventListener('abort', () => report.line(stopping), { once: true })
    return 'train'
  }
  const result = await orInterrupted(signal, () => checking, training.run({ ...job, onChecked }))
  if (result.outcome === 'stopped') signal.throwIfAborted()
  for (const line of await afterwards(training, result)) report.line(line)
  return result.step === 0 ? 1 : 0
}

/** An error about an option says which file, or which part of the command line, gave it. */
export async function attributed<T>(origins: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
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
  return `Interrupted. The training is saved in ${output}. To resume:\n  ${resumeLine(verb, args)}`
}

export const stopping = 'Finishing this step, then saving. A second Ctrl-C stops at once and loses unsaved work.'

/**
 * Checks the output directory first: it must be usable, and must not have a run if a new one starts. If the process died before
 * it wrote a run, `--resume` starts a new one.
 */
async function checkOutput(output: string, intent: 'start' | 'resume', report: Report): Promise<void> {
  await checkNewDirectory(output).catch(error => refuse('output', error))
  const holdsRun = await Run.isIn(output).catch(error => refuse('output', error))
  if (intent === 'resume' && !holdsRun) report.line(`${output} has no run yet: starting a new run.`)
  if (intent === 'start' && holdsRun)
    throw new InputError(`output: ${output} already has a run`, {
      remedy: 'Resume it with --resume, or choose another directory for the new run: --set output=DIR.',
    })
}

function showChecked({ config, origins }: ResolvedConfig<RawConfig>, { models, data }: DryRun, report: Report): void {
  process.stdout.write(`${resolvedConfig(config, origins)}\n`)
  for (const line of dryRunReport({ models, data })) report.line(line)
}

/** A dry run for another machine fails, but still prints the memory of the models. */
export function showMachine(error: unknown, report: Report): never {
  if (error instanceof MachineError) for (const line of memoryReport(error.checked)) report.line(line)
  throw error
}

/** Where the models are, and how to use them. */
async function afterwards(training: Training, { directory, best, step }: JobResult): Promise<string[]> {
  const final = join(directory, 'final_model')
  const isThere = await stat(final).catch(() => undefined)
  if (step === 0) return [`Nothing was trained. The reasons are in ${join(directory, 'logs/skipped.jsonl')}.`]
  return [
    ...(isThere ? [`${final}: the model after ${step} steps`] : []),
    ...(best
      ? [`${join(directory, 'best_model')}: the best model, of step ${best.step} (${best.metric} ${shown(best.value)})`]
      : []),
    ...(isThere ? training.next(final).map(line => `  ${line}`) : []),
  ]
}

const shown = (value: number): string => String(Number(value.toPrecision(4)))

/** The command that resumes, ready to paste. */
export function resumeLine(verb: string, args: readonly string[]): string {
  const quoted = args
    .filter(arg => arg !== '--resume')
    .map(arg => (/^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`))
  return ['whetstone', verb, ...quoted, '--resume'].join(' ')
}

function helpOf({ verb, about, example, schema }: Training): string {
  return `Usage: whetstone ${verb} --config FILE [--set KEY=VALUE ...] [--dry-run] [--resume] [--allow-change KEY ...]

${about}

The config is YAML, JSON, or the default export of a TypeScript module. Paths in it are relative to the file. The shortest config:

${example.replaceAll(/^/gm, '  ')}

${flagHelp(flags)}

Ctrl-C finishes the current optimiser step, saves a checkpoint and prints how to resume. A second Ctrl-C stops at once.

Options of the config, with dots for sections (docs/training.md explains them; \`whetstone schema\` prints a JSON Schema):

${optionHelp(schema)}
`
}
