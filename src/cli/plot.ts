import { basename, extname, normalize } from 'node:path'
import { z } from 'zod'
import { didYouMean } from '../errors/index.js'
import { writeFileAtomic } from '../files/index.js'
import { chart, toPng, toSvg } from '../plot/index.js'
import { curvesOf } from '../run/index.js'
import { file, flagHelp, readArguments, text, UsageError } from './flags.js'
import { readView } from './runs.js'

const flags = z.object({
  out: file('.svg or .png').default('plot.svg'),
  metrics: text(
    'NAMES',
    'metrics to draw, one panel each, separated by commas (default: the main metrics of the runs)',
  ).optional(),
})

export const help = `Usage: whetstone plot RUN... [--out FILE.svg|FILE.png] [--metrics NAMES]

Draws the metrics of one or more runs into a picture: one panel per metric, one colour per run, a smoothed line over the raw
values, and the last value at its end. A metric that holds only rounding noise has no panel, unless --metrics names it. Runs
in progress work too. docs/metrics.md explains the metrics.

${flagHelp(flags)}
`

const encoders: Readonly<Record<string, typeof toPng | typeof toSvg>> = { '.svg': toSvg, '.png': toPng }

export async function run(args: string[]): Promise<number> {
  const { flags: given, positionals } = readArguments(args, flags, { positionals: 'keep' })
  if (positionals.length === 0) throw new UsageError('expected a run directory')
  const encode = encoders[extname(given.out).toLowerCase()]
  if (!encode) throw new UsageError(`--out: expected a file that ends in .svg or .png, got "${given.out}"`)
  const views = await Promise.all(positionals.map(readView))
  const known = [...new Set(views.flatMap(view => [...view.metrics.keys()]))].sort()
  const asked = given.metrics?.split(',').map(name => name.trim())
  for (const name of asked ?? [])
    if (!known.includes(name))
      throw new UsageError(
        `--metrics: the runs have no "${name}"${didYouMean(name, known) || `; they have ${known.join(', ')}`}`,
      )
  const names = views.map(({ directory }) => basename(normalize(directory)))
  const curves = curvesOf(
    views.map((view, index) => ({
      name: new Set(names).size === names.length ? names[index]! : view.directory,
      view,
    })),
    asked,
  )
  const { panels, note } = curves
  if (panels.length === 0) throw new UsageError(note ? `nothing to draw; ${note}` : 'the runs have no metrics yet')
  await writeFileAtomic(given.out, encode(chart(curves)))
  console.log(`${given.out}: ${panels.map(({ metric }) => metric).join(', ')}`)
  if (note) console.log(note)
  return 0
}
