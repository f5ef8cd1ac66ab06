import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { readSamples, type SavedSample } from '../data/index.js'
import { InputError } from '../errors/index.js'
import { writeFileAtomic } from '../files/index.js'
import { count, type Report, reportFor } from '../progress/index.js'
import { loadRewards, type RewardInput, type RewardOutcome, textRewardInput } from '../reward/index.js'
import { interruptible } from './interrupt.js'
import { rewardReport } from './reward-report.js'
import { parseOptions, UsageError } from './usage.js'

export const help = `Usage: whetstone reward test --reward FILE --input FILE.jsonl [options]

Runs a reward over saved samples and shows how its numbers lie, the worst rows, and what failed. A line of the input is

  {"prompt":"...","response":"...","label":"...","reference":"...", further columns}

where prompt may be a list of messages, and label, reference and every further column are there if the reward needs them;
prompt_ids, response_ids, response_raw, finish_reason, group and sample are known too.

  --reward FILE       a module (.ts, .js, .mjs) that exports a reward, or a description of sources (.yaml, .json)
  --input FILE        samples, as JSONL or a JSON list
  --prompt COLUMN     the column of the prompt, where it is called otherwise; --label and --reference alike
  --output FILE       write each sample's reward, components and metrics, or its failure, as a line of JSON
  --worst N           how many of the worst rows are shown (default 5)

Exit code 0 where every sample has a reward, 1 where one has none.
`

interface Settings {
  reward: string
  input: string
  output: string | undefined
  worst: number
  columns: { prompt?: string; label?: string; reference?: string }
}

export async function run(args: string[]): Promise<number> {
  const [action, ...rest] = args
  if (action !== 'test')
    throw new UsageError(action ? `reward: unknown action "${action}"; there is: test` : 'expected an action: test')
  const settings = readSettings(rest)
  const report = reportFor(process.env)
  let failed = 0
  const code = await interruptible({
    work: async signal => {
      failed = await test(settings, report, signal)
    },
    onInterrupt: () => report.line('Interrupted.'),
  })
  return code !== 0 ? code : failed > 0 ? 1 : 0
}

function readSettings(args: string[]): Settings {
  const { reward, input, output, worst, prompt, label, reference } = parseOptions(args, {
    reward: { type: 'string' },
    input: { type: 'string' },
    output: { type: 'string' },
    worst: { type: 'string', default: '5' },
    prompt: { type: 'string' },
    label: { type: 'string' },
    reference: { type: 'string' },
  })
  if (!reward) throw new UsageError('--reward: expected a file')
  if (!input) throw new UsageError('--input: expected a file')
  if (!/^\d{1,6}$/.test(worst!)) throw new UsageError(`--worst: expected a whole number, got "${worst}"`)
  const columns = {
    ...(prompt === undefined ? {} : { prompt }),
    ...(label === undefined ? {} : { label }),
    ...(reference === undefined ? {} : { reference }),
  }
  return { reward, input, output, worst: Number(worst), columns }
}

/** Answers with how many samples have no reward. */
async function test({ reward, input, output, worst, columns }: Settings, report: Report, signal: AbortSignal) {
  if (output !== undefined) {
    const folder = dirname(resolve(output))
    await access(folder, constants.W_OK).catch(cause => {
      throw new InputError(`${output}: ${folder} is not a directory one can write to`, { cause })
    })
  }
  const samples = await readSamples(input, { signal, columns })
  const engine = await loadRewards(reward)
  const inputs = samples.map(toInput)
  engine.checkLabels(inputs.map(one => one.label))
  const progress = report.transfer('rewards', count('samples', 1_000))
  const outcomes = new Array<RewardOutcome>(inputs.length)
  try {
    const place = new Map(inputs.map((one, i) => [one, i]))
    let done = 0
    for await (const { input: one, outcome } of engine.stream(inputs, { signal })) {
      outcomes[place.get(one)!] = outcome
      progress.at(++done, inputs.length)
    }
  } finally {
    progress.end()
    await engine.close()
  }
  if (output !== undefined) await writeFileAtomic(output, outcomes.map(outputLine).join(''))
  const rows = samples.map(({ where, response }, i) => ({ where, response, outcome: outcomes[i]! }))
  process.stdout.write(rewardReport(rows, { worst, sources: engine.counts }))
  return outcomes.filter(({ kind }) => kind === 'failed').length
}

function toInput({ prompt, where: _, ...sample }: SavedSample): RewardInput {
  const { promptIds, responseIds } = sample
  // A conversation has no text before a template renders it; what was said is what a reward can read.
  const text = typeof prompt === 'string' ? prompt : prompt.map(({ content }) => String(content ?? '')).join('\n')
  const input = textRewardInput({
    ...sample,
    prompt: text,
    ...(typeof prompt === 'string' ? {} : { messages: prompt }),
  })
  return { ...input, ...(promptIds ? { promptIds } : {}), ...(responseIds ? { responseIds } : {}) }
}

function outputLine(outcome: RewardOutcome): string {
  if (outcome.kind === 'failed') {
    const { reason, message, source } = outcome
    return `${JSON.stringify({ error: { reason, message, source } })}\n`
  }
  const { reward, components, metrics } = outcome
  return `${JSON.stringify({ reward, components, metrics })}\n`
}
