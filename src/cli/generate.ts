import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { z } from 'zod'
import { InputError } from '../errors/index.js'
import { BadLines, numberedLines, type Output, openOutput } from '../files/index.js'
import { readConfig } from '../model/index.js'
import { count, type Report, reportFor } from '../progress/index.js'
import { type Generator, type Outcome, openEngine, resolveSampling, type SamplingParams } from '../rollout/index.js'
import { fitPrompt, promptTurns, Tokenizer, tokenIds } from '../text/index.js'
import { promptTemplateFlag } from './chat-template-flag.js'
import { asUsage, engineFlags, engineOptions, samplingFlags, samplingParams, usableDevice } from './engine-flags.js'
import { choice, file, flagHelp, integer, readFlags, toggle } from './flags.js'
import { parseRow, promptRow } from './input-rows.js'
import { interruptible } from './interrupt.js'
import { writeSamples } from './sample-lines.js'

const flags = engineFlags.extend({
  input: file('input file: one line of JSON per prompt'),
  output: file('output file: one line of JSON per sample; - streams to standard output'),
  chatTemplate: promptTemplateFlag,
  n: integer('samples per prompt', { min: 1 }).default(1),
  ...samplingFlags.shape,
  logprobs: choice(
    ['raw', 'processed'],
    'MEANING',
    'log-probabilities to write. raw: of the distribution of the model; processed: of the distribution after temperature and filters',
  ).default('raw'),
  truncatePrompt: integer('cut longer prompts to N tokens; text of the chat template is never cut', {
    min: 1,
  }).optional(),
  truncateSide: choice(['left', 'right'], 'SIDE', 'left: cut the start of the text; right: cut the end').default(
    'left',
  ),
  keepSpecialTokens: toggle('keep special tokens in the text'),
})

export const help = `Usage: whetstone generate --model DIR --input FILE.jsonl --output FILE.jsonl [options]

Generates responses to prompts. A line of the input is one of

  {"prompt":"..."}       a text: a user message if the tokenizer has a chat template, else plain text with its special tokens
  {"ids":[...]}          token ids, used unchanged
  {"messages":[...]}     a conversation for the assistant to answer, rendered by the chat template

Each sample is a line of the output, in the order of the input:

  {"index":0,"sample":0,"prompt_ids":[...],"ids":[...],"text":"...","logprobs":[...],"logprobs_mode":"raw","finish_reason":"stop"}

finish_reason is stop or length. A sample without a response is {"index":0,"sample":0,"error":{"reason":"...","message":"..."}}.
A response depends on the text of its line, the line number, the seed and the sample index, not on other lines.

${flagHelp(flags)}

Bad lines are listed with their numbers before the model is loaded. The output file appears when it is complete. Exit code 1 if
no prompt got a response.
`

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
    work: signal => generate(settings, { output, report, signal }),
    onInterrupt: () => report.line(`Interrupted. ${output.interrupted}`),
  })
}

function samplingOf(settings: Settings): SamplingParams {
  return { ...samplingParams(settings), text: settings.keepSpecialTokens ? 'with-special' : 'plain' }
}

/** Returns the exit code: 1 if there were prompts and none got a response. */
async function generate(settings: Settings, { output, report, signal }: Surroundings): Promise<number> {
  const { model: directory, input, n, chatTemplate } = settings
  const { vocabSize } = (await readConfig(directory)).decoder
  const { text, ...sampling } = samplingOf(settings)
  asUsage(() => resolveSampling(sampling, { vocabSize, n }))
  usableDevice(settings.device)
  const tokenizer = existsSync(join(directory, 'tokenizer.json'))
    ? await Tokenizer.load(directory, { chatTemplate })
    : undefined
  const prompts = await readPrompts(input, { ...settings, tokenizer, vocabSize, signal })

  const loading = report.transfer('loading')
  const opened = await openEngine(directory, {
    ...engineOptions(settings),
    chatTemplate,
    signal,
    onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
  }).finally(() => loading.end())
  const { engine } = opened
  // A directory without a tokenizer generates only ids.
  const wanted = opened.tokenizer && text ? { ...sampling, text } : sampling
  const started = performance.now()
  const tally = { completed: 0, rejected: 0, failed: 0 }
  const progress = showProgress(
    report,
    engine,
    () => tally.completed + tally.rejected + tally.failed,
    prompts.length * n,
  )
  try {
    const { logprobs } = settings
    const onOutcome = ({ kind }: Outcome): void => void tally[kind]++
    await output.write(
      write => writeSamples(engine, { prompts, n, sampling: wanted, logprobs }, { write, onOutcome, signal }),
      { signal },
    )
  } finally {
    progress.end()
    await opened.close()
  }
  const seconds = (performance.now() - started) / 1000
  const tokens = engine.counts.generatedTokens
  const missing = [
    ...(tally.rejected > 0 ? [`${tally.rejected} rejected`] : []),
    ...(tally.failed > 0 ? [`${tally.failed} failed`] : []),
  ]
  const whole = (value: number): string => Math.round(value).toLocaleString('en')
  report.line(
    `${output.name}: ${[`${whole(tally.completed)} responses`, ...missing].join(', ')}, ${whole(tokens)} tokens, ${whole(tokens / seconds)} tokens/s`,
  )
  return tally.completed === 0 && prompts.length > 0 ? 1 : 0
}

/** Polls the engine and reports progress. */
function showProgress(report: Report, engine: Generator, done: () => number, total: number): { end: () => void } {
  const generating = report.transfer('generating', count('responses', 100))
  let before = { tokens: 0, at: performance.now() }
  const timer = setInterval(() => {
    const { running, waiting, generatedTokens: tokens } = engine.counts
    const at = performance.now()
    const rate = Math.round((tokens - before.tokens) / ((at - before.at) / 1000)).toLocaleString('en')
    before = { tokens, at }
    generating.at(done(), total, `${rate} tokens/s, ${running} running, ${waiting} waiting`)
  }, 250)
  return {
    end: () => {
      clearInterval(timer)
      generating.end()
    },
  }
}

interface PromptOptions extends Pick<Settings, 'chatTemplate' | 'truncatePrompt' | 'truncateSide'> {
  tokenizer: Tokenizer | undefined
  vocabSize: number
  signal: AbortSignal
}

async function readPrompts(file: string, options: PromptOptions): Promise<Int32Array[]> {
  const prompts: Int32Array[] = []
  const bad = new BadLines(file)
  for await (const { text, line } of numberedLines(file, { signal: options.signal })) {
    try {
      prompts.push(await promptOf(text, options))
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      bad.add(line, error.message)
    }
  }
  bad.throwIfAny()
  return prompts
}

async function promptOf(text: string, options: PromptOptions): Promise<Int32Array> {
  const { tokenizer, vocabSize, chatTemplate, truncatePrompt: limit = Number.POSITIVE_INFINITY, truncateSide } = options
  const row = parseRow(promptRow, text)
  try {
    if (row.kind === 'ids') return cutIds(tokenIds(row.ids as readonly number[], { vocabSize }), options)
    if (!tokenizer) throw new InputError(`the model directory has no tokenizer.json: a prompt must be {"ids":[...]}`)
    const turns = row.kind === 'messages' ? row.messages : promptTurns(row.prompt, tokenizer, chatTemplate)
    const fitted = await fitPrompt(turns, { tokenizer, limit, side: truncateSide })
    if (fitted.kind === 'fits') return fitted.ids
    throw new InputError(
      `${fitted.ids.length} tokens, and cannot be cut to ${limit} (--truncate-prompt): text of the chat template is never cut`,
    )
  } catch (error) {
    if (error instanceof RangeError || (error as Error).name === 'ChatTemplateError')
      throw new InputError((error as Error).message, { cause: error })
    throw error
  }
}

/** Ids are used unchanged. */
function cutIds(ids: Int32Array, { truncatePrompt: limit, truncateSide: side }: PromptOptions): Int32Array {
  if (limit === undefined || ids.length <= limit) return ids
  return side === 'left' ? ids.slice(-limit) : ids.slice(0, limit)
}
