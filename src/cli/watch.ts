import { basename, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { SampleView } from '../dashboard/index.js'
import { cutText, wrapText } from '../progress/index.js'
import { diagnose, mainMetrics, metricText, RunReader, type RunView } from '../run/index.js'
import { flagHelp, integer, readArguments, toggle, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'
import { sampleLines } from './samples.js'

const flags = z.object({
  every: integer('seconds between looks', { min: 1, max: 3600 }).default(2),
  once: toggle('print the run as it is now, and end'),
})

export const help = `Usage: whetstone watch RUN [--every SECONDS] [--once]

Follows a run in a terminal: status, curves of the main metrics, alerts, and the best and the worst sample of the last
iteration. Ends when the run ends, or with Ctrl-C, which does not affect the run. In a log, it prints a block for each new step.

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { flags: given, positionals } = readArguments(args, flags, { positionals: 'keep' })
  const [directory, ...rest] = positionals
  if (directory === undefined || rest.length > 0) throw new UsageError('expected one run directory')
  return interruptible({
    work: signal => follow(resolve(directory), { everyMs: given.every * 1000, once: given.once ?? false, signal }),
    onInterrupt: () => {},
  })
}

async function follow(
  directory: string,
  { everyMs, once, signal }: { everyMs: number; once: boolean; signal: AbortSignal },
): Promise<void> {
  const reader = new RunReader(directory)
  const isTerminal = process.stdout.isTTY && process.env.TERM !== 'dumb'
  const first = await reader.read()
  const samples = first.config.command === 'rl' ? await SampleView.open(directory) : undefined
  let shown = ''
  try {
    for (;;) {
      const view = await reader.read()
      const state = `${view.status} ${view.step} ${process.stdout.columns}`
      if (state !== shown) {
        shown = state
        const { columns = 100, rows = Number.POSITIVE_INFINITY } = process.stdout
        const all = (await picture(view, samples, columns)).split('\n')
        // What a terminal has no room for would push the rest out of it.
        const text = (isTerminal && !once ? all.slice(0, rows - 1) : all).join('\n')
        // Home and clear: the next picture stands where this one stood.
        process.stdout.write(isTerminal && !once ? `\u001B[H\u001B[2J${text}\n` : `${text}\n\n`)
      }
      if (once || view.status !== 'running') return
      await wait(everyMs, undefined, { signal })
    }
  } finally {
    await samples?.close()
  }
}

/** The run in lines of at most so many columns. */
export async function picture(view: RunView, samples: SampleView | undefined, columns: number): Promise<string> {
  const { config, status, step, metrics } = view
  const title = `${basename(view.directory)}: ${config.command}, ${status}, ${samples ? 'iteration' : 'step'} ${step}`
  const lines = [cutText(title, columns), '']
  const curves = mainMetrics([view]).map(name => {
    const values = metrics.get(name)!.map(({ value }) => value)
    return { name, values, last: metricText(name, values.at(-1)!) }
  })
  const longest = (texts: readonly string[]): number => texts.reduce((most, text) => Math.max(most, text.length), 0)
  const last = longest(curves.map(curve => curve.last))
  const name = Math.min(longest(curves.map(curve => curve.name)), Math.max(10, columns - last - 13))
  const width = Math.min(60, Math.max(8, columns - name - last - 4))
  for (const curve of curves)
    lines.push(
      `${cutText(curve.name, name).padEnd(name)}  ${curve.last.padStart(last)}  ${sparkline(curve.values, width)}`,
    )
  for (const { message } of diagnose(metrics, status === 'finished' ? 'end' : 'step'))
    lines.push('', wrapText(`! ${message}`, columns))
  if (samples) {
    const newest = await samples.samples({ ...all, sort: 'iteration', order: 'descending', limit: 1 })
    const [last] = newest.rows
    const where = last ? `iteration=${last.iteration}` : ''
    for (const [title, order] of [
      ['best', 'descending'],
      ['worst', 'ascending'],
    ] as const) {
      const { rows } = await samples.samples({ ...all, where, sort: 'reward', order, limit: 1 })
      for (const row of rows) lines.push('', wrapText(`${title}: ${sampleLines(row, columns)}`, columns))
    }
  }
  return lines.join('\n')
}

const all = { where: '', search: '', whole: 'no' } as const
const blocks = '▁▂▃▄▅▆▇█'

/** Means of equal parts of a curve, as blocks between its lowest and its highest. */
function sparkline(values: readonly number[], width: number): string {
  const finite = values.filter(Number.isFinite)
  if (finite.length === 0) return ''
  const parts = Math.min(width, finite.length)
  const means = Array.from({ length: parts }, (_, part) => {
    const some = finite.slice(
      Math.floor((part * finite.length) / parts),
      Math.floor(((part + 1) * finite.length) / parts),
    )
    return some.reduce((a, b) => a + b, 0) / some.length
  })
  const low = means.reduce((a, b) => Math.min(a, b))
  const high = means.reduce((a, b) => Math.max(a, b))
  const level = (value: number): number => (high === low ? 0 : Math.round(((value - low) / (high - low)) * 7))
  return means.map(value => blocks[level(value)]).join('')
}
