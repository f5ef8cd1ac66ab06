/** What `sft`, `reward train`, `rl` and `dpo` have in common: configs in layers, dry runs, Ctrl-C, resume, what to do next. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { startTraining, type TrainingResult } from '../api/index.js'
import { InputError } from '../errors/index.js'
import { type Report, reportFor } from '../progress/index.js'
import { metricText } from '../run/index.js'
import {
  type CheckedTraining,
  type ConfigLayer,
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
import { readConfigFlags } from './config-flags.js'
import { configHelp, requiredFlags } from './config-help.js'
import { configLayers, requireOptions } from './config-layers.js'
import { configKind } from './configs.js'
import { dryRunReport, memoryReport, outputLines } from './dry-run.js'
import { file, flagHelp, settings, several, toggle } from './flags.js'
import { interruptible, orInterrupted } from './interrupt.js'
import { resolvedConfig } from './resolved-config.js'
import type { Verb } from './verbs.js'

const flags = z.object({
  config: file(
    'a config file (YAML, JSON, or the default export of a TypeScript module); flags win over it',
  ).optional(),
  set: settings(),
  dryRun: toggle('check config, data and models, estimate the memory, print the resolved options, and stop'),
  resume: toggle('resume the run in the output directory'),
  allowChange: several('KEY', 'allow a resumed run to change this option; repeat for more'),
})
type Settings = z.output<typeof flags>

/** The command of a training, or of a verb that is the training with some of its options set. */
export function trainCommand(name: TrainingName, verb: string = trainings[name].verb): Verb {
  const training: Training = trainings[name]
  return { help: args => helpOf(training, verb, args), run: args => runCommand(training, verb, args) }
}

async function runCommand(training: Training, verb: string, args: readonly string[]): Promise<number> {
  const { flags: settings, layer } = readConfigFlags(args, flags, training)
  const layers = await configLayers({ ...settings, layer })
  requireOptions(training, layers, settings.config)
  const resolved = training.resolve(await loadDefinitions([...verbLayers(training, verb, layers), ...layers]))
  const { output } = resolved.config
  const report = reportFor(process.env)
  return interruptible({
    work: signal => train(training, settings, resolved, { report, signal }),
    onInterrupt: () => report.line(interruptedLine(output, verb, args)),
  })
}

/** The options that a verb sets. A config that sets them otherwise is refused: which of the two was meant cannot be known. */
function verbLayers({ kin, verb: usual }: Training, verb: string, layers: readonly ConfigLayer[]): ConfigLayer[] {
  const set = kin[verb]
  if (set === undefined) return []
  for (const [option, value] of Object.entries(set))
    for (const { origin, values } of layers)
      if (values[option] !== undefined && values[option] !== value)
        throw new InputError(
          `${origin}: ${option}: ${JSON.stringify(values[option])} contradicts the verb ${verb}; remove the option, or use whetstone ${usual}`,
        )
  return [{ origin: `whetstone ${verb}`, values: set }]
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
      const found = await outputLines({
        output: resolved.config.output,
        command: training.name,
        config: resolved.config as RawConfig,
        intent: resume ? 'resume' : 'start',
      })
      for (const line of dryRunReport({ models, data: counted, output: found })) report.line(line)
      return 'stop'
    }
    const checks = startTraining({ ...job, output: 'look', onChecked }).catch(error => showMachine(error, report))
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
function afterwards(training: Training, { best, step, directory, models }: TrainingResult): string[] {
  if (step === 0) return [`Nothing was trained. The reasons are in ${join(directory, 'logs/skipped.jsonl')}.`]
  const { final } = models
  const of = best?.step === 0 ? 'the model before training; no checkpoint was better' : `of step ${best?.step}`
  const measured = best && models.best ? { best, model: models.best } : undefined
  return [
    ...(final ? [`${final}: the model after ${step} steps`] : []),
    ...(measured
      ? [
          `${measured.model}: the best model, ${of} (${measured.best.metric} ${metricText(measured.best.metric, measured.best.value)})`,
        ]
      : []),
    ...(final ? training.next(measured?.model ?? final).map(line => `  ${line}`) : []),
  ]
}

/** The command that resumes, ready to paste. */
export function resumeLine(verb: string, args: readonly string[]): string {
  return ['whetstone', verb, ...args.filter(arg => arg !== '--resume').map(shellWord), '--resume'].join(' ')
}

/** As a shell takes it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

function helpOf(training: Training, verb: string, args: readonly string[]): string {
  const { about, example, common } = training
  return `Usage: whetstone ${verb} ${requiredFlags(training)} [options]
       whetstone ${verb} --config FILE [options]

${about}

${configHelp({ ...training, verb, common, args, preset: configKind(verb.split(' ')[0]!)!.preset, page: 'docs/training.md' })}

${flagHelp(flags)}

Paths in a config file are relative to it, paths in flags to the current directory. \`whetstone new ${verb.split(' ')[0]}\`
writes a config with comments. The shortest config:

${example.replaceAll(/^/gm, '  ')}

Ctrl-C finishes the current optimiser step, saves a checkpoint and prints how to resume. A second Ctrl-C stops at once.
`
}
