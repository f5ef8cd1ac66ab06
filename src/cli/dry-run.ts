/** What a dry run found, for people. */
import { type CheckedData, type CheckedModels, deviceMemory, type ModelMemory } from '../train/index.js'

interface DryRun {
  readonly models: CheckedModels
  readonly data: readonly CheckedData[]
}

/** Lines about data, models and memory. */
export function dryRunReport({ models, data }: DryRun): string[] {
  return ['', ...data.flatMap(dataLines), ...memoryReport(models), 'All checks passed.']
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
  { models, device, dtype, tokens, cache }: CheckedModels,
  available: number | undefined,
): string[] {
  const here = models.map(one => one.memory).filter(one => one.device === device)
  const header = ['', 'parameters', ...columns]
  const rows = models.map(({ parameters, memory: one }) => [
    one.device === device ? one.name : `${one.name}, on ${one.device}`,
    number(parameters),
    ...columns.map(name => (one[name] === 0 ? '' : size(one[name]))),
  ])
  const cached = cache === 0 ? [] : [['keys and values', '', '', '', '', '', '', size(cache)]]
  const total = here.reduce((sum: number, one: ModelMemory) => sum + one.total, cache)
  const table = [header, ...rows, ...cached]
  const widths = header.map((_, i) => Math.max(...table.map(row => row[i]!.length)))
  const lines = table.map(row =>
    `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')}`.trimEnd(),
  )
  const warning =
    available === undefined
      ? [`This machine has no ${device}: cannot check whether the memory is enough.`]
      : total > available
        ? [
            `The device has less memory. To save memory: a smaller tokenBudget, gradientCheckpointing, lora${cache > 0 ? ', enableEngineSleep' : ''}.`,
          ]
        : []
  return [
    `memory on ${device} in ${dtype}, ${number(tokens)} tokens at a time (an estimate):`,
    ...lines,
    `  together about ${size(total)}${available === undefined ? '' : ` of ${size(available)}`}${here.length < models.length ? ` on ${device}` : ''}`,
    ...warning,
  ]
}

const number = (value: number): string => value.toLocaleString('en')

const size = (bytes: number): string =>
  bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`
