import { z } from 'zod'
import { question, type SampleRow, SampleView } from '../dashboard/index.js'
import { InputError } from '../errors/index.js'
import { cutText } from '../progress/index.js'
import { choice, flagHelp, integer, readArguments, text, toggle, UsageError } from './flags.js'

const flags = z.object({
  step: integer('only samples of this iteration', { min: 0 }).optional(),
  sort: text(
    'COLUMN',
    'iteration, reward, length, promptLength, kl, entropy, gap or component.NAME',
    'a column',
  ).default('iteration'),
  order: choice(['ascending', 'descending'], 'ORDER', 'ascending or descending').default('descending'),
  where: text(
    'CONDITIONS',
    'such as "reward<0.5 finish=length"; names: iteration, sample, reward, length, promptLength, kl, entropy, gap, component.NAME, finish, dropped, trained, flagged, prompt',
    'conditions',
  ).optional(),
  search: text('TEXT', 'only samples whose prompt or response has this text, in upper or lower case').optional(),
  limit: integer('number of samples to show', { min: 1, max: 500 }).default(20),
  json: toggle('one JSON object a line, with the first 100 kB of each text'),
})

export const help = `Usage: whetstone samples RUN [--step N] [--sort COLUMN] [--where CONDITIONS] [options]

Lists samples of a run: reward, length, KL, why it was dropped, and the beginning of its texts. The run may be training. The
first call reads the whole journal and keeps an index in the run directory; later calls are fast.

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { flags: given, positionals } = readArguments(args, flags, { positionals: 'keep' })
  const [directory, ...rest] = positionals
  if (directory === undefined || rest.length > 0) throw new UsageError('expected one run directory')
  const { step, where = '', search = '', sort, order, limit, json } = given
  const view = await SampleView.open(directory)
  try {
    const conditions = step === undefined ? where : `iteration=${step} ${where}`
    const query = { where: conditions, search, sort, order, limit, whole: json ? 'yes' : 'no' } as const
    const { rows, total, problem } = await view.samples(query).catch((error: unknown) => {
      throw error instanceof InputError ? new UsageError(error.message) : error
    })
    if (problem !== null) console.error(`whetstone: ${problem}`)
    const width = process.stdout.columns ?? 164
    for (const row of rows) console.log(json ? JSON.stringify(row) : sampleLines(row, width))
    const isOther = view.command !== 'rl'
    if (isOther) console.error(`whetstone: a run of ${view.command} samples nothing; reinforcement learning does`)
    else if (!json) console.log(`${rows.length} of ${total} samples`)
    return problem !== null && total === 0 ? 1 : 0
  } finally {
    await view.close()
  }
}

/** For a terminal of this width: control codes of a model's text do not reach it. */
export function sampleLines(row: SampleRow, width: number): string {
  const number = (value: number | null): string => (value === null ? '-' : String(Number(value.toPrecision(4))))
  const state = row.dropped ? `dropped: ${row.dropped}` : row.trained ? 'trained' : 'not trained yet'
  const head = `iteration ${row.iteration}  ${printable(row.promptId)}  sample ${row.sample}  reward ${number(row.reward)}  ${row.length} tokens (${row.finish})${row.kl === null ? '' : `  kl ${number(row.kl)}`}  ${state}`
  const line = (text: string): string => cutText(printable(text.replace(/\s+/g, ' ').trim()), Math.max(10, width - 4))
  return `${head}\n  > ${line(question(row.prompt))}\n  < ${line(row.response)}`
}

function printable(value: string): string {
  return value.replace(/\p{Cc}/gu, '?')
}
