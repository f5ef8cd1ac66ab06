import { join } from 'node:path'
import { z } from 'zod'
import { makeReport } from '../dashboard/index.js'
import { writeFileAtomic } from '../files/index.js'
import { file, flagHelp, integer, readArguments, UsageError } from './flags.js'
import { readView } from './runs.js'

const flags = z.object({
  out: file('the page to write (default: report.html in the run directory)').optional(),
  samples: integer('most samples to show: the best, worst, first and last', { min: 0, max: 2000 }).default(200),
  tokens: integer('most of them with the numbers of their tokens', { min: 0, max: 2000 }).default(40),
})

export const help = `Usage: whetstone report RUN [--out FILE.html]

Writes a run as one HTML file that opens offline, without a server: curves, stages, samples, distributions, alerts, config and
environment, as \`whetstone dashboard\` shows them. Prompts and responses are in the file: share it as you would share them.

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { flags: given, positionals } = readArguments(args, flags, { positionals: 'keep' })
  const [directory, ...rest] = positionals
  if (directory === undefined || rest.length > 0) throw new UsageError('expected one run directory')
  // Says what is wrong with a directory that is no run.
  await readView(directory)
  const { samples, tokens } = given
  const report = await makeReport({ directory, samples, tokens })
  const out = given.out ?? join(directory, 'report.html')
  await writeFileAtomic(out, report.html)
  console.log(`${out}: ${report.shown} of ${report.samples} samples, ${(report.html.length / 1e6).toFixed(1)} MB`)
  return 0
}
