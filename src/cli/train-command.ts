/** What `sft`, `reward train`, `rl` and `dpo` have in common: configs in layers, dry runs, Ctrl-C, resume, what to do next. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { startTraining, type TrainingResult } from '../api/index.js'
import { readConfigFile } from '../files/index.js'
import { type Report, reportFor } from '../progress/index.js'
import {
  type CheckedTraining,
  fileLayer,
  type JobOptions,
  loadDefinitions,
  MachineError,
  type RawConfig,
  type ResolvedTraining,
  type Training,
  type TrainingConfig,
  type TrainingName,
  trainings,
} from '../train/index.js'
import { dryRunReport, memoryReport } from './dry-run.js'
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
  const { config: path } = settings
  const given = fileLayer(path, await readConfigFile(path))
  const resolved = training.resolve(await loadDefinitions([given, setLayer(settings.set ?? [])]))
  const { output } = resolved.config
  const report = reportFor(process.env)
  return interruptible({
    work: signal => train(training, settings, resolved, { report, signal }),
    onInterrupt: () => report.line(interruptedLine(output, training.verb, args)),
  })
}

type Surroundings = Pick<JobOptions<unknown>, 'report' | 'signal'>

async function train(
  training: Training,
  { resume = false, dryRun = false, allowChange = [] }: Settings,
  resolved: ResolvedTraining<TrainingConfig>,
  { report, signal }: Surroundings,
): Promise<number> {
  const job = { training, ...resolved, resume, allowChange, report, signal }
  if (dryRun) {
    const onChecked = async ({ models, data, countTooLong }: CheckedTraining): Promise<'stop'> => {
      const tooLong = await countTooLong()
      const counted = data.map((one, i) => ({ ...one, ...(tooLong[i] ? { tooLong: tooLong[i] } : {}) }))
      process.stdout.write(`${resolvedConfig(resolved.config as RawConfig, resolved.origins)}\n`)
      for (const line of dryRunReport({ models, data: counted })) report.line(line)
      return 'stop'
    }
    const checks = startTraining({ ...job, onChecked }).catch(error => showMachine(error, report))
    await orInterrupted(signal, () => true, checks)
    return 0
  }
  let checking = true
  const onChecked = (): 'train' => {
    checking = false
    signal.addEventListener('abort', () => report.line(stopping), { once: true })
    return 'train'
  }
  const result = await orInterrupted(signal, () => checking, Promise.resolve(startTraining({ ...job, onChecked })))
  if (result.outcome === 'stopped') signal.throwIfAborted()
  for (const line of afterwards(training, result)) report.line(line)
  return result.step === 0 ? 1 : 0
}

function interruptedLine(output: string, verb: string, args: readonly string[]): string {
  if (args.includes('--dry-run') || !existsSync(join(output, 'config.json'))) return 'Interrupted. Nothing was written.'
  return `Interrupted. The training is saved in ${output}. To resume:\n  ${resumeLine(verb, args)}`
}

export const stopping = 'Finishing this step, then saving. A second Ctrl-C stops at once and loses unsaved work.'

/** A dry run for another machine fails, but still prints the memory of the models. */
export function showMachine(error: unknown, report: Report): never {
  if (error instanceof MachineError) for (const line of memoryReport(error.checked)) report.line(line)
  throw error
}

/** Where the models are, and how to use them. */
function afterwards(training: Training, { directory, best, step, models: { final } }: TrainingResult): string[] {
  if (step === 0) return [`Nothing was trained. The reasons are in ${join(directory, 'logs/skipped.jsonl')}.`]
  return [
    ...(final ? [`${final}: the model after ${step} steps`] : []),
    ...(best
      ? [`${join(directory, 'best_model')}: the best model, of step ${best.step} (${best.metric} ${shown(best.value)})`]
      : []),
    ...(final ? training.next(final).map(line => `  ${line}`) : []),
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
