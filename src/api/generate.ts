/** Responses to prompts. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { InputError } from '../errors/index.js'
import { LocalModel, readConfig } from '../model/index.js'
import { count, type Report, silentReport } from '../progress/index.js'
import {
  defaultMaxNewTokens,
  type Generator,
  generationConfigLines,
  LocalEngine,
  type OpenOptions,
  openEngine,
  readGenerationConfig,
  resolveSampling,
  type SampleLogprobs,
  type SamplingParams,
} from '../rollout/index.js'
import { type ChatMessage, fitPrompt, promptTurns, Tokenizer, tokenIds } from '../text/index.js'
import { type ColumnOptions, type InputRow, type InputRows, openInput, promptRow } from './input-rows.js'
import { locateGiven } from './locate-given.js'
import { type GeneratedSample, samplesInOrder } from './samples-in-order.js'

/** A prompt as text, as token ids or as a conversation; also rows with the columns that RL reads. Other fields are ignored. */
export type GeneratePrompt =
  | { readonly prompt: string }
  | { readonly ids: readonly number[] | Int32Array }
  | { readonly messages: readonly ChatMessage[] }

/** Options that say how tokens are chosen, under the names that engines have for them. */
const samplingNames = [
  ...(['temperature', 'firstTemperature', 'topK', 'topP', 'minP', 'minNewTokens', 'stop', 'stopIds'] as const),
  ...(['forbiddenIds', 'ignoreEos'] as const),
]

export interface GenerateOptions
  extends Pick<
      OpenOptions,
      'adapter' | 'device' | 'chatTemplate' | 'maxSequences' | 'maxLength' | 'cacheBytes' | 'signal'
    >,
    Pick<SamplingParams, (typeof samplingNames)[number] | 'text'>,
    ColumnOptions {
  /** A model directory, an id of the Hub, or a model of the program. */
  readonly model: string | LocalModel<'language'>
  /** What RL reads (a file, a pattern, a folder, an id of the Hub), or rows. */
  readonly data: InputRows<GeneratePrompt>
  /** In place of the one in the model's directory; a model of the program needs it for prompts that are texts. */
  readonly tokenizer?: Tokenizer
  /** Samples of each prompt. Default 1. */
  readonly n?: number
  /**
   * Default 256. Sampling options that are left out are those of `generation_config.json`, where the model is a directory that
   * has one.
   */
  readonly maxNewTokens?: number
  /** Default 0. */
  readonly seed?: number
  /** Default `raw`. */
  readonly logprobs?: keyof SampleLogprobs
  /** Longer prompts are cut to this many tokens. Default: they are not. */
  readonly truncatePrompt?: number
  /** Default `left`: the start of the text is cut. */
  readonly truncateSide?: 'left' | 'right'
  readonly report?: Report
}

/**
 * Samples in the order of the prompts. All prompts are checked before a model is loaded.
 *
 * @example
 * for await (const { text } of generate({ model: 'model', data: [{ prompt: 'What is 2 + 2?' }], maxNewTokens: 16 }))
 *   console.log(text)
 */
export async function* generate(options: GenerateOptions): AsyncGenerator<GeneratedSample, void> {
  const { tokenizer: given, n = 1, logprobs = 'raw', report = silentReport } = options
  const { signal = new AbortController().signal, seed = 0, text = 'plain' } = options
  const { model, adapter } = await locateGiven(options, { report, signal })
  const local = model instanceof LocalModel
  const { vocabSize } = local ? model : (await readConfig(model)).decoder
  const own = pick(options, [...samplingNames, 'maxNewTokens'])
  const configured = local ? undefined : await readGenerationConfig(model)
  const sampling = { maxNewTokens: defaultMaxNewTokens, ...configured?.defaults, ...own, seed }
  resolveSampling(sampling, { vocabSize, n })
  for (const line of configured ? generationConfigLines(configured, own) : []) report.line(line)
  const tokenizer = given ?? (local ? undefined : await tokenizerOf(model, options))
  const prompts: Int32Array[] = []
  const input = await openInput(options.data, { reads: 'once', report, signal })
  try {
    for await (const ids of input.rows(row => promptOf(row, { ...options, tokenizer, vocabSize }))) prompts.push(ids)
  } finally {
    await input.close()
  }

  const opened = local
    ? overModel(model, tokenizer, options)
    : await open(model, { ...options, ...(adapter === undefined ? {} : { adapter }), signal }, report)
  const progress = showProgress(report, opened.engine, prompts.length * n)
  // A directory without a tokenizer generates ids alone.
  const wanted = tokenizer ? { ...sampling, text } : sampling
  try {
    for await (const sample of samplesInOrder(opened.engine, { prompts, n, sampling: wanted, logprobs, signal })) {
      progress.done()
      yield sample
    }
  } finally {
    progress.end()
    await opened.close()
  }
}

/** Those of the options that are given. */
function pick<T extends object, K extends keyof T>(options: T, names: readonly K[]): Pick<T, K> {
  const given = names.filter(name => options[name] !== undefined).map(name => [name, options[name]])
  return Object.fromEntries(given) as Pick<T, K>
}

const tokenizerOf = async (directory: string, { chatTemplate }: GenerateOptions): Promise<Tokenizer | undefined> =>
  existsSync(join(directory, 'tokenizer.json')) ? Tokenizer.load(directory, { chatTemplate }) : undefined

interface Opened {
  readonly engine: Generator
  close(): Promise<void>
}

function overModel(model: LocalModel<'language'>, tokenizer: Tokenizer | undefined, options: GenerateOptions): Opened {
  const engine = new LocalEngine(model, {
    ...pick(options, ['maxSequences', 'maxLength', 'cacheBytes']),
    ...(tokenizer ? { tokenizer } : {}),
  })
  return { engine, close: () => engine.close() }
}

async function open(directory: string, options: GenerateOptions, report: Report): Promise<Opened> {
  const loading = report.transfer('loading')
  return openEngine(directory, {
    ...pick(options, ['adapter', 'device', 'chatTemplate', 'maxSequences', 'maxLength', 'cacheBytes', 'signal']),
    onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
  }).finally(() => loading.end())
}

/** Shows the counts of the engine from time to time. */
function showProgress(report: Report, engine: Generator, total: number): { done(): void; end(): void } {
  const generating = report.transfer('generating', count('responses', 100))
  let done = 0
  let before = { tokens: 0, at: performance.now() }
  const timer = setInterval(() => {
    const { running, waiting, generatedTokens: tokens } = engine.counts
    const at = performance.now()
    const rate = Math.round((tokens - before.tokens) / ((at - before.at) / 1000)).toLocaleString('en')
    before = { tokens, at }
    generating.at(done, total, `${rate} tokens/s, ${running} running, ${waiting} waiting`)
  }, 250)
  return {
    done: () => void done++,
    end: () => {
      clearInterval(timer)
      generating.end()
    },
  }
}

interface PromptOptions extends Pick<GenerateOptions, 'chatTemplate' | 'columns' | 'truncatePrompt' | 'truncateSide'> {
  readonly tokenizer: Tokenizer | undefined
  readonly vocabSize: number
}

async function promptOf(given: InputRow, options: PromptOptions): Promise<Int32Array> {
  const { tokenizer, vocabSize, chatTemplate, truncatePrompt: limit = Number.POSITIVE_INFINITY } = options
  const row = promptRow(given, options)
  try {
    if (row.kind === 'ids') return cutIds(tokenIds(row.ids, { vocabSize }), options)
    if (!tokenizer) throw new InputError(`the model directory has no tokenizer.json: a prompt must be {"ids":[...]}`)
    const turns = promptTurns(row.prompt, tokenizer, chatTemplate)
    const fitted = await fitPrompt(turns, { tokenizer, limit, side: options.truncateSide ?? 'left' })
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
function cutIds(ids: Int32Array, { truncatePrompt: limit, truncateSide: side = 'left' }: PromptOptions): Int32Array {
  if (limit === undefined || ids.length <= limit) return ids
  return side === 'left' ? ids.slice(-limit) : ids.slice(0, limit)
}
