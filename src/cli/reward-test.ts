import { z } from 'zod'
import { readSamples, type SavedSample } from '../data/index.js'
import { type Output, openOutput } from '../files/index.js'
import { count, type Report, reportFor } from '../progress/index.js'
import {
  loadRewards,
  locateRewardModels,
  type RewardInput,
  type RewardOutcome,
  rewardForms,
  textRewardInput,
} from '../reward/index.js'
import { promptSequence, withSampled } from '../sequence/index.js'
import { deviceFlag } from './device-flag.js'
import { file, flagHelp, integer, readFlags, text } from './flags.js'
import { interruptible } from './interrupt.js'
import { rewardReport } from './reward-report.js'

const column = (description: string) => text('COLUMN', description, 'the name of a column').optional()

const flags = z.object({
  reward: file(rewardForms),
  input: file('samples, as JSONL or a JSON list'),
  prompt: column('column of the prompt, if it has another name'),
  label: column('column of the label, if it has another name'),
  target: column('column of the target, if it has another name'),
  output: file(
    'output file: reward, components and metrics of each sample, or its failure, one line of JSON each',
  ).optional(),
  device: deviceFlag.meta({
    description: 'device of reward models without a device of their own: cpu, cuda, cuda:N or auto',
  }),
  worst: integer('number of worst rows to show', { min: 0, max: 999_999 }).default(5),
})

export const help = `Usage: whetstone reward test --reward FILE --input FILE.jsonl [options]

Runs a reward on saved samples and shows the distribution of the rewards, the worst rows and the failures. A line of the input is

  {"prompt":"...","response":"...","label":"...","target":"...", further columns}

prompt may be a list of messages. label, target and other columns are only needed if the reward uses them.
prompt_ids, response_ids, response_raw, finish_reason, prompt_id and sample are known too.

${flagHelp(flags)}

Exit code 0 if every sample has a reward, else 1.
`

type Settings = z.output<typeof flags>

export async function run(args: string[]): Promise<number> {
  const settings = readFlags(args, flags)
  const { input, reward } = settings
  const output =
    settings.output === undefined
      ? undefined
      : await openOutput(settings.output, { inputs: [input, reward], directories: [] })
  const report = reportFor(process.env)
  return interruptible({
    work: async signal => ((await test(settings, { output, report, signal })) > 0 ? 1 : 0),
    onInterrupt: () => report.line(`Interrupted. ${output?.interrupted ?? ''}`.trimEnd()),
  })
}

interface Surroundings {
  output: Output | undefined
  report: Report
  signal: AbortSignal
}

/** Returns the number of samples without a reward. */
async function test(
  { reward, input, worst, prompt, label, target, device }: Settings,
  { output, report, signal }: Surroundings,
): Promise<number> {
  const columns = {
    ...(prompt === undefined ? {} : { prompt }),
    ...(label === undefined ? {} : { label }),
    ...(target === undefined ? {} : { target }),
  }
  const samples = await readSamples(input, { signal, columns })
  const commits = await locateRewardModels(reward, { report, signal })
  const engine = await loadRewards(reward, { device, signal, commits })
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
  await output?.write(write => write(outcomes.map(outputLine).join('')), { signal })
  const rows = samples.map(({ where, response }, i) => ({ where, response, outcome: outcomes[i]! }))
  process.stdout.write(rewardReport(rows, { worst, sources: engine.counts }))
  return outcomes.filter(({ kind }) => kind === 'failed').length
}

function toInput({
  prompt,
  where: _,
  images: _images,
  videos: _videos,
  audios: _audios,
  promptIds,
  responseIds,
  ...sample
}: SavedSample): RewardInput {
  const { row, promptId } = sample
  // A conversation has no text before a template renders it; what was said is what a reward can read.
  const text = typeof prompt === 'string' ? prompt : prompt.map(({ content }) => String(content ?? '')).join('\n')
  const asked = promptSequence({ ids: promptIds ?? new Int32Array(0), promptId, row })
  return textRewardInput({
    ...sample,
    prompt: text,
    sequence: responseIds ? withSampled(asked, responseIds) : asked,
    ...(typeof prompt === 'string' ? {} : { messages: prompt }),
  })
}

function outputLine(outcome: RewardOutcome): string {
  if (outcome.kind === 'failed') {
    const { reason, message, source } = outcome
    return `${JSON.stringify({ error: { reason, message, source } })}\n`
  }
  const { reward, components, metrics } = outcome
  return `${JSON.stringify({ reward, components, metrics })}\n`
}
