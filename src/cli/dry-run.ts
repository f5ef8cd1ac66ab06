/** What a dry run found, for people. */
import { bytesText } from '../progress/index.js'
import { configChanges, type Json, Run, type RunView } from '../run/index.js'
import { type CheckedData, type CheckedModels, deviceMemory, type RawConfig } from '../train/index.js'

interface DryRun {
  readonly models: CheckedModels
  readonly data: readonly CheckedData[]
  /** What a run would do with an output that exists. */
  readonly output?: readonly string[]
}

/** Lines about data, models and memory. */
export function dryRunReport({ models, data, output = [] }: DryRun): string[] {
  // Every row was encoded: what a batch can hold is known.
  const sized = models.forRows?.(data[0]?.tooLong?.lengths ?? []) ?? models
  return [
    '',
    ...data.flatMap(dataLines),
    ...memoryReport(sized),
    ...output,
    ...(output.length === 0 ? ['All checks passed.'] : []),
  ]
}

interface PlannedOutput {
  readonly output: string
  /** The name of the training, as runs record it. */
  readonly command: string
  readonly config: RawConfig
  readonly intent: 'start' | 'resume'
}

/** What a command would do with a run that is in its output directory: it is only looked at. */
export async function outputLines({ output, command, config, intent }: PlannedOutput): Promise<string[]> {
  if (!(await Run.isIn(output)))
    return intent === 'start' ? [] : ['All checks passed.', `${output} has no run yet: --resume would start a new one.`]
  const view = await Run.read(output)
  const { config: old, owner } = view
  const found = describeRun(view)
  if (owner) return [passed, `${found} Process ${owner.pid} is running it: this command would refuse.`]
  if (intent === 'start')
    return [passed, `${found} This command would refuse: add --resume to continue it, or give another --output.`]
  if (old.command !== command)
    return [passed, `${found} This command would refuse: it is a run of another training. Give another --output.`]
  const changed = changedOptions(old.config, config)
  return [
    passed,
    ...(changed.length === 0
      ? [
          `${found} This command would resume it, if data and models are those of the run: a dry run does not compare them.`,
        ]
      : [
          `${found} These options differ from it:`,
          ...changed,
          'This command would refuse a difference that changes results, unless --allow-change names the option.',
        ]),
  ]
}

const passed = 'The checks of config, models and data passed.'

function describeRun({ directory, config, status, checkpoints }: RunView): string {
  const checkpoint = checkpoints.length === 0 ? 'no checkpoint' : `a checkpoint of step ${checkpoints.at(-1)}`
  return `${directory} has a run of ${config.command} (${status}, ${checkpoint}).`
}

/** What a pipeline would do with a run of a stage that is there. */
export async function stageOutputLines(output: string): Promise<string[]> {
  if (!(await Run.isIn(output))) return []
  const view = await Run.read(output)
  const found = describeRun(view)
  if (view.owner) return [passed, `${found} Process ${view.owner.pid} is running it: this command would refuse.`]
  if (view.status === 'finished')
    return [passed, `${found} If config, data and models are the same, the stage is skipped. If not, it runs again.`]
  return [passed, `${found} This command needs --resume to continue it.`]
}

/** Options that a run filled in itself, such as `maxLength`, are not given. */
function changedOptions(old: Json, given: RawConfig): string[] {
  const changes = configChanges(old, given as Json).filter(({ to }) => to !== undefined)
  return changes.map(({ key, from, to }) => `  ${key}: was ${JSON.stringify(from)}, is now ${JSON.stringify(to)}`)
}

/** Lines about memory alone. */
export function memoryReport(models: CheckedModels): string[] {
  return ['', ...memoryLines(models, deviceMemory(models.device)), '']
}

function dataLines({ files, rows, formats, skipped, train, validation, tooLong }: CheckedData): string[] {
  const named = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${number(count)}`)
      .join('; ')
  const left = Object.keys(skipped).length > 0 ? [`  skipped: ${named(skipped)}`] : []
  return [
    `data: ${number(rows)} rows in ${files.length === 1 ? files[0]!.path : `${files.length} files`} (${named(formats)})`,
    `  ${number(train)} examples to train on, ${number(validation)} held out`,
    ...left,
    ...(tooLong ? tooLongLines(tooLong) : []),
  ]
}

/** Nothing where every example fits. */
function tooLongLines({ option, limit, cut, leftOut }: NonNullable<CheckedData['tooLong']>): string[] {
  if (cut + leftOut === 0) return []
  return [`  longer than ${option} (${number(limit)} tokens): ${number(cut)} cut, ${number(leftOut)} skipped`]
}

const columns = ['weights', 'gradients', 'moments', 'copies', 'activations', 'total'] as const

/** A row for each model and for the cache, and whether all of it fits into what is available, where that is known. */
export function memoryLines(
  { models, device, dtype, batch, cache, together, ranks, sharing }: CheckedModels,
  available: number | undefined,
): string[] {
  const here = models.map(one => one.memory).filter(one => one.device === device)
  const header = ['', 'parameters', ...columns]
  const rows = models.map(({ parameters, memory: one }) => [
    one.device === device ? one.name : `${one.name}, on ${one.device}`,
    number(parameters),
    ...columns.map(name => (one[name] === 0 ? '' : bytesText(one[name]))),
  ])
  const cached = cache === 0 ? [] : [['keys and values', '', '', '', '', '', '', bytesText(cache)]]
  const table = [header, ...rows, ...cached]
  const widths = header.map((_, i) => Math.max(...table.map(row => row[i]!.length)))
  const lines = table.map(row =>
    `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')}`.trimEnd(),
  )
  const warning =
    available === undefined
      ? [`This machine has no ${device}: cannot check whether the memory is enough.`]
      : together > available
        ? [
            `The device has less memory. To save memory: a smaller tokenBudget, gradientCheckpointing, lora${cache > 0 ? ', enableEngineSleep' : ''}.`,
          ]
        : []
  return [
    `memory ${ranks > 1 ? `of each of ${ranks} ranks ` : ''}on ${device} in ${dtype}, ${number(batch.tokens)} tokens${batch.patches > 0 ? ` and ${number(batch.patches)} patches of images` : ''} at a time (an estimate):`,
    ...lines,
    `  together about ${bytesText(together)}${available === undefined ? '' : ` of ${bytesText(available)}`}${here.length < models.length ? ` on ${device}` : ''}${sharing > 1 ? `, for ${sharing} ranks` : ''}`,
    ...warning,
  ]
}

const number = (value: number): string => value.toLocaleString('en')
