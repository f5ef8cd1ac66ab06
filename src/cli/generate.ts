import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { InputError } from '../errors/index.js'
import { BadLines, numberedLines, parseJsonLine, writeFileAtomic } from '../files/index.js'
import { readConfig } from '../model/index.js'
import { count, type Report, reportFor } from '../progress/index.js'
import {
  type GenerationRequest,
  type Generator,
  type Outcome,
  openEngine,
  resolveSampling,
  type SamplingParams,
} from '../rollout/index.js'
import { type ChatMessage, Tokenizer, tokenIds } from '../text/index.js'
import {
  asUsage,
  countFlag,
  engineFlags,
  engineHelp,
  engineOptions,
  samplingFlags,
  samplingHelp,
  samplingParams,
} from './engine-flags.js'
import { interruptible } from './interrupt.js'
import { parseOptions, UsageError } from './usage.js'

export const help = `Usage: whetstone generate --model DIR --input FILE.jsonl --output FILE.jsonl [options]

Generates responses to prompts. A line of the input is one of

  {"prompt":"..."}       a text, with the special tokens the tokenizer adds
  {"ids":[...]}          token ids, as they are
  {"messages":[...]}     a conversation, by the tokenizer's chat template, for the assistant to answer

and each sample of it a line of the output, in the order of the input:

  {"index":0,"sample":0,"prompt_ids":[...],"ids":[...],"text":"...","logprobs":[...],"logprobs_mode":"raw","finish_reason":"stop"}

where finish_reason is stop or length, and {"index":0,"sample":0,"error":{"reason":"...","message":"..."}} where there is
no response. What a line gets depends on its text, its number, the seed and the sample's index, not on the other lines.

${engineHelp}
  --n N                   samples of each prompt (default 1)
${samplingHelp}
  --logprobs MEANING      raw (default): of the model's own distribution; processed: of the one that was sampled from
  --truncate-prompt N     cut longer prompts to N tokens
  --truncate-side SIDE    left (default): cut off the beginning; right: the end
  --keep-special-tokens   leave special tokens in the text

Bad lines are listed with their numbers before the model is loaded. The output appears when it is complete.
`

interface Settings {
  model: string
  engine: Parameters<typeof openEngine>[1]
  input: string
  output: string
  n: number
  sampling: SamplingParams
  logprobs: 'raw' | 'processed'
}

export async function run(args: string[]): Promise<number> {
  const settings = readSettings(args)
  const report = reportFor(process.env)
  return interruptible({
    work: signal => generate(settings, report, signal),
    onInterrupt: () => report.line(`Interrupted; ${settings.output} was not written.`),
  })
}

function readSettings(args: string[]): Settings {
  const values = parseOptions(args, {
    ...engineFlags,
    ...samplingFlags,
    input: { type: 'string' },
    output: { type: 'string' },
    n: { type: 'string' },
    logprobs: { type: 'string', default: 'raw' },
    'truncate-prompt': { type: 'string' },
    'truncate-side': { type: 'string', default: 'left' },
    'keep-special-tokens': { type: 'boolean' },
  })
  const { model, options: engine } = engineOptions(values)
  const { input, output, logprobs } = values
  if (!input) throw new UsageError('--input: expected a file')
  if (!output) throw new UsageError('--output: expected a file')
  if (logprobs !== 'raw' && logprobs !== 'processed')
    throw new UsageError(`--logprobs: expected raw or processed, got "${logprobs}"`)
  const side = values['truncate-side']
  if (side !== 'left' && side !== 'right')
    throw new UsageError(`--truncate-side: expected left or right, got "${side}"`)
  const limit = countFlag(values, 'truncate-prompt')
  const sampling: SamplingParams = {
    ...samplingParams(values),
    ...(limit === undefined ? {} : { truncatePromptTokens: { limit, side } }),
    text: values['keep-special-tokens'] ? 'with-special' : 'plain',
  }
  const n = countFlag(values, 'n') ?? 1
  return { model, engine, input, output, n, sampling, logprobs }
}

async function generate(settings: Settings, report: Report, signal: AbortSignal): Promise<void> {
  const { model: directory, input, output, n } = settings
  const { vocabSize } = (await readConfig(directory)).decoder
  asUsage(() => resolveSampling(settings.sampling, { vocabSize, n }))
  const tokenizer = existsSync(join(directory, 'tokenizer.json')) ? await Tokenizer.load(directory) : undefined
  const prompts = await readPrompts(input, { tokenizer, vocabSize, signal })
  if (!existsSync(dirname(resolve(output)))) throw new InputError(`${output}: there is no such directory`)

  const loading = report.transfer('loading')
  const opened = await openEngine(directory, {
    ...settings.engine,
    signal,
    onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
  }).finally(() => loading.end())
  const { engine } = opened
  // A directory without a tokenizer generates ids alone.
  const { text, ...sampling } = settings.sampling
  const wanted = opened.tokenizer && text ? { ...sampling, text } : sampling
  const requests = prompts.map(
    (promptIds, index): GenerationRequest => ({ id: `${index}`, promptIds, n, sampling: wanted }),
  )
  const started = performance.now()
  const tally = { completed: 0, rejected: 0, failed: 0 }
  const progress = showProgress(
    report,
    engine,
    () => tally.completed + tally.rejected + tally.failed,
    prompts.length * n,
  )
  try {
    await writeFileAtomic(output, async target => {
      const lines = new InOrder(prompts.length * n)
      for await (const outcome of engine.generate(requests, { signal })) {
        signal.throwIfAborted()
        tally[outcome.kind]++
        const ready = lines.put(Number(outcome.requestId) * n + outcome.sample, outputLine(outcome, settings.logprobs))
        if (ready !== '') await target.appendFile(ready)
      }
      signal.throwIfAborted()
    })
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
    `${output}: ${[`${whole(tally.completed)} responses`, ...missing].join(', ')}, ${whole(tokens)} tokens, ${whole(tokens / seconds)} tokens/s`,
  )
}

/** Looks at the engine now and then, and says how it goes. */
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

/** Lines that come in any order, given out in theirs. */
class InOrder {
  private readonly lines: (string | undefined)[]
  private next = 0

  constructor(count: number) {
    this.lines = new Array<string | undefined>(count)
  }

  /** What can be written now. */
  put(index: number, line: string): string {
    this.lines[index] = line
    let ready = ''
    for (let found = this.lines[this.next]; found !== undefined; found = this.lines[this.next]) {
      ready += found
      this.lines[this.next++] = undefined
    }
    return ready
  }
}

function outputLine(outcome: Outcome, meaning: 'raw' | 'processed'): string {
  const place = { index: Number(outcome.requestId), sample: outcome.sample }
  if (outcome.kind !== 'completed') {
    const { reason, message } = outcome
    return `${JSON.stringify({ ...place, error: { reason, message } })}\n`
  }
  const { promptIds, responseIds, text, logprobs, finishReason } = outcome
  return `${JSON.stringify({
    ...place,
    prompt_ids: Array.from(promptIds),
    ids: Array.from(responseIds),
    ...(text === undefined ? {} : { text }),
    logprobs: Array.from(logprobs[meaning]!),
    logprobs_mode: meaning,
    finish_reason: finishReason,
  })}\n`
}

interface PromptOptions {
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

const forms = '{"prompt":"..."}, {"ids":[...]} or {"messages":[...]}'

async function promptOf(text: string, { tokenizer, vocabSize }: PromptOptions): Promise<Int32Array> {
  const row = parseJsonLine(text) as Record<string, unknown>
  const found = ['prompt', 'ids', 'messages'].filter(name => row !== null && typeof row === 'object' && name in row)
  if (found.length !== 1)
    throw new InputError(`expected ${forms}${found.length > 1 ? `, got ${found.join(' and ')} together` : ''}`)
  try {
    if (found[0] === 'ids') {
      if (!Array.isArray(row.ids)) throw new InputError('ids: expected a list of token ids')
      return tokenIds(row.ids as number[], { vocabSize })
    }
    if (!tokenizer)
      throw new InputError(`the model directory has no tokenizer.json, so that a prompt has to be {"ids":[...]}`)
    if (found[0] === 'messages')
      return await tokenizer.encodeChat(row.messages as readonly ChatMessage[], { addGenerationPrompt: true })
    if (typeof row.prompt !== 'string') throw new InputError('prompt: expected a string')
    return await tokenizer.encode(row.prompt)
  } catch (error) {
    if (error instanceof RangeError || (error as Error).name === 'ChatTemplateError')
      throw new InputError((error as Error).message, { cause: error })
    throw error
  }
}
