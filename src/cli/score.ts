import type { z } from 'zod'
import { InputError } from '../errors/index.js'
import { BadLines, numberedLines, type Output, openOutput } from '../files/index.js'
import { LocalModel, NonFiniteError, type Outputs, type Role, readConfig, type ScoreOptions } from '../model/index.js'
import { count, type Report, reportFor } from '../progress/index.js'
import { trainedCount } from '../sequence/index.js'
import { promptTemplateFlag } from './chat-template-flag.js'
import { modelFlags, usableDevice } from './engine-flags.js'
import { choice, file, flagHelp, readFlags } from './flags.js'
import { interruptible } from './interrupt.js'
import { ScoreInput, type ScoreRequest } from './score-input.js'

const flags = modelFlags.extend({
  input: file('input file: one line of JSON per sequence'),
  output: file('output file: one line of JSON per input line; - streams to standard output'),
  chatTemplate: promptTemplateFlag,
  packing: choice(
    ['on', 'off'],
    'on|off',
    'pack sequences without padding, or pad them; the results are the same',
  ).default('on'),
})

export const help = `Usage: whetstone score --model DIR --input FILE.jsonl --output FILE.jsonl [options]

Computes log-probabilities, entropies or reward scores of token sequences. A line of the input is one of

  {"ids":[...]}                          every token but the first
  {"prompt":"...","response":"..."}      the tokens of the response
  {"messages":[...]}                     the tokens of the assistant, rendered by the chat template

and the same line of the output {"logprobs":[...],"entropies":[...]}, one number per token, or {"score":x} where the model
model is a reward model. A prompt is a user message if the tokenizer has a chat template, else plain text with its special
tokens. Prompt and response are encoded separately and joined as ids. A reward model also reads
the end-of-turn token, as in its training.

${flagHelp(flags)}

Bad lines are listed with their numbers before the model is loaded. The output file appears when it is complete.
`

/** Tokens and lines per scoring call: enough for good batches, and little memory. */
const windowTokens = 1 << 16
const windowLines = 4096

type Settings = z.output<typeof flags>

interface Surroundings {
  output: Output
  report: Report
  signal: AbortSignal
}

export async function run(args: string[]): Promise<number> {
  const settings = readFlags(args, flags)
  const { model, adapter, input } = settings
  const directories = [model, ...(adapter === undefined ? [] : [adapter])]
  const output = await openOutput(settings.output, { inputs: [input], directories })
  const report = reportFor(process.env)
  return interruptible({
    work: signal => score(settings, { output, report, signal }),
    onInterrupt: () => report.line(`Interrupted. ${output.interrupted}`),
  })
}

async function score(settings: Settings, { output, report, signal }: Surroundings): Promise<void> {
  const { model: directory, adapter, input: file } = settings
  const config = await readConfig(directory)
  const input = new ScoreInput(directory, config, settings)
  const total = await validate(file, input, signal)
  const device = usableDevice(settings.device)

  const loading = report.transfer('loading')
  const model = await LocalModel.load<Role>(directory, {
    device,
    signal,
    ...(adapter === undefined ? {} : { adapter }),
    onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
  }).finally(() => loading.end())
  const started = performance.now()
  const scoring = report.transfer('scoring', count('tokens', 100_000))
  try {
    await output.write(
      async write => {
        let done = 0
        for await (const requests of windows(file, input, signal)) {
          const tokens = requests.reduce((sum, { sequence }) => sum + sequence.ids.length, 0)
          const onProgress = (scored: number) => scoring.at(done + (tokens * scored) / requests.length, total.tokens)
          const lines = await scoreWindow(model, requests, { packing: settings.packing, signal, onProgress })
          await write(lines)
          done += tokens
        }
      },
      { signal },
    )
  } finally {
    scoring.end()
    model.dispose()
  }
  const seconds = (performance.now() - started) / 1000
  const lines = count(total.lines === 1 ? 'line' : 'lines', 0).show(total.lines)
  const { show } = count('tokens', 0)
  report.line(`${output.name}: ${lines}, ${show(total.tokens)}, ${show(total.tokens / seconds)}/s`)
}

/** Check every line before loading the model. */
async function validate(
  file: string,
  input: ScoreInput,
  signal: AbortSignal,
): Promise<{ lines: number; tokens: number }> {
  const total = { lines: 0, tokens: 0 }
  const bad = new BadLines(file)
  for await (const { text, line } of numberedLines(file, { signal })) {
    try {
      total.tokens += (await input.request(text, line)).sequence.ids.length
      total.lines = line
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      bad.add(line, error.message)
    }
  }
  bad.throwIfAny()
  return total
}

async function* windows(file: string, input: ScoreInput, signal: AbortSignal): AsyncGenerator<ScoreRequest[]> {
  let requests: ScoreRequest[] = []
  let tokens = 0
  for await (const { text, line } of numberedLines(file, { signal })) {
    const request = await input.request(text, line)
    requests.push(request)
    tokens += request.sequence.ids.length
    if (tokens < windowTokens && requests.length < windowLines) continue
    yield requests
    requests = []
    tokens = 0
  }
  if (requests.length > 0) yield requests
}

async function scoreWindow(
  model: LocalModel,
  requests: readonly ScoreRequest[],
  options: Pick<ScoreOptions, 'packing' | 'signal' | 'onProgress'>,
): Promise<string> {
  // A reward model scores every sequence; what has no trained token has no log-probabilities.
  const asked = requests.filter(({ sequence }) => model.role === 'reward' || trainedCount(sequence) > 0)
  const sequences = asked.map(({ sequence }) => sequence)
  const results = await model
    .score(sequences, { ...options, entropy: model.role === 'language' })
    .catch((error: unknown) => {
      if (!(error instanceof NonFiniteError)) throw error
      throw new InputError(`line ${asked[error.sequence]!.line}: the model's output is not finite`, { cause: error })
    })
  const answers = new Map(asked.map((request, i) => [request, results[i]!]))
  return requests.map(request => outputLine(answers.get(request))).join('')
}

function outputLine(result: Outputs[Role] | undefined): string {
  if (result && 'score' in result) return `${JSON.stringify({ score: result.score })}\n`
  const { logprobs = [], entropies = [] } = (result ?? {}) as Partial<Outputs['language']>
  return `${JSON.stringify({ logprobs: [...logprobs], entropies: [...entropies] })}\n`
}
