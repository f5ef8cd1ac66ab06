/** Responses to prompts. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Devices } from '../distributed/index.js'
import { InputError } from '../errors/index.js'
import { LocalModel, type MultimodalProcessor, readConfig } from '../model/index.js'
import { count, type Report, silentReport } from '../progress/index.js'
import {
  defaultMaxNewTokens,
  type Generator,
  generationConfigLines,
  LocalEngine,
  type OpenOptions,
  readGenerationConfig,
  resolveSampling,
  type SampleLogprobs,
  type SamplingParams,
} from '../rollout/index.js'
import {
  type ChatMessage,
  encodeTurns,
  fitPrompt,
  type MediaColumns,
  placedTypes,
  promptTurns,
  Tokenizer,
  tokenIds,
} from '../text/index.js'
import type { MediaSettings } from '../train/index.js'
import { type ColumnOptions, type InputRow, type InputRows, openInput, promptRow } from './input-rows.js'
import { checkNames, named } from './known-options.js'
import { locateGiven } from './locate-given.js'
import { MediaInput, type RowMedia } from './media-input.js'
import { openRankedEngine } from './open-ranks.js'
import { type GeneratedSample, type PromptRequest, samplesInOrder } from './samples-in-order.js'

/** A prompt as text, as token ids or as a conversation; also rows with the columns that RL reads. Other fields are ignored. */
export type GeneratePrompt = (
  | { readonly prompt: string }
  | { readonly ids: readonly number[] | Int32Array }
  | { readonly messages: readonly ChatMessage[] }
) &
  RowMedia

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
  /** Ranks that compute together: all GPUs, a number of them (or of processes that share a CPU), or a list. Default: this process. */
  readonly devices?: Devices | undefined
  /** Called when the model is loaded, before anything is generated. */
  readonly onStart?: () => void
  /** A model directory, an id of the Hub, or a model of the program. */
  readonly model: string | LocalModel<'language'>
  /** What RL reads (a file, a pattern, a folder, an id of the Hub), or rows. */
  readonly data: InputRows<GeneratePrompt>
  /** In place of the one in the model's directory; a model of the program needs it for prompts that are texts. */
  readonly tokenizer?: Tokenizer
  /** In place of the one in the model's directory; a model of the program needs it for prompts with images or videos. */
  readonly processor?: MultimodalProcessor
  /** How images and videos are read, as in a training: bounds on pixels, URLs, the ffmpeg. Not beside `processor`. */
  readonly media?: MediaSettings
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

/** Options that the engine takes as they are. */
const engineNames = ['adapter', 'device', 'devices', 'chatTemplate', 'maxSequences', 'maxLength', 'cacheBytes'] as const

const optionNames = named(
  ...samplingNames,
  ...engineNames,
  ...(['model', 'data'] as const),
  ...([
    'signal',
    'text',
    'columns',
    'onStart',
    'tokenizer',
    'processor',
    'media',
    'n',
    'maxNewTokens',
    'seed',
  ] as const),
  ...(['logprobs', 'truncatePrompt', 'truncateSide', 'report'] as const),
)

/**
 * Samples in the order of the prompts. All prompts are checked before a model is loaded.
 *
 * @example
 * for await (const { text } of generate({ model: 'model', data: [{ prompt: 'What is 2 + 2?' }], maxNewTokens: 16 }))
 *   console.log(text)
 */
export async function* generate(options: GenerateOptions): AsyncGenerator<GeneratedSample, void> {
  checkNames('generate', options, optionNames, ['model', 'data'])
  const { tokenizer: given, n = 1, logprobs = 'raw', report = silentReport } = options
  const { signal = new AbortController().signal, seed = 0, text = 'plain' } = options
  const { model, adapter } = await locateGiven(options, { report, signal })
  const local = model instanceof LocalModel
  const config = local ? model.config : await readConfig(model)
  const { vocabSize } = config.decoder
  const own = pick(options, [...samplingNames, 'maxNewTokens'])
  const configured = local ? undefined : await readGenerationConfig(model)
  const sampling = { maxNewTokens: defaultMaxNewTokens, ...configured?.defaults, ...own, seed }
  resolveSampling(sampling, { vocabSize, n })
  for (const line of configured ? generationConfigLines(configured, own) : []) report.line(line)
  const tokenizer = given ?? (local ? undefined : await tokenizerOf(model, options))
  const media = new MediaInput({
    config,
    directory: local ? undefined : model,
    processor: options.processor,
    settings: options.media,
    tokenizer: async () => tokenizer ?? noTokenizer(),
    signal,
  })
  const prompts: PromptRequest[] = []
  const input = await openInput(options.data, { reads: 'once', report, signal })
  try {
    const read = (row: InputRow) => promptOf(row, { ...options, tokenizer, vocabSize, media })
    for await (const prompt of input.rows(read)) prompts.push(prompt)
  } finally {
    await input.close()
  }

  const opened = local
    ? overModel(model, tokenizer, options)
    : await open(model, { ...options, ...(adapter === undefined ? {} : { adapter }), signal }, report)
  options.onStart?.()
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
  return openRankedEngine(directory, {
    ...pick(options, [...engineNames, 'signal']),
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
  readonly media: MediaInput
}

function noTokenizer(): never {
  throw new InputError(`the model directory has no tokenizer.json: a prompt must be {"ids":[...]}`)
}

async function promptOf(given: InputRow, options: PromptOptions): Promise<PromptRequest> {
  const { tokenizer, vocabSize, chatTemplate, media, truncatePrompt: limit = Number.POSITIVE_INFINITY } = options
  const row = promptRow(given, options)
  try {
    const columns = media.columns(given)
    const withMedia = (ids: Int32Array, all: MediaColumns) => mediaPrompt(ids, all, { ...options, given })
    if (row.kind === 'ids') {
      const ids = tokenIds(row.ids, { vocabSize })
      return (await withMedia(ids, columns)) ?? { ids: cutIds(ids, options) }
    }
    if (!tokenizer) noTokenizer()
    const { prompt: turns, ...placed } = await media.place(promptTurns(row.prompt, tokenizer, chatTemplate), columns)
    if (media.isRead) {
      const found = await withMedia(await encodeTurns(turns, tokenizer, { mediaTypes: placedTypes }), placed)
      if (found) return found
    }
    const fitted = await fitPrompt(turns, { tokenizer, limit, side: options.truncateSide ?? 'left' })
    if (fitted.kind === 'fits') return { ids: fitted.ids }
    throw new InputError(
      `${fitted.ids.length} tokens, and cannot be cut to ${limit} (--truncate-prompt): text of the chat template is never cut`,
    )
  } catch (error) {
    if (error instanceof RangeError || (error as Error).name === 'ChatTemplateError')
      throw new InputError((error as Error).message, { cause: error })
    throw error
  }
}

/** A prompt with images or videos. Its pixels are not kept: they are read again when the engine has room. */
async function mediaPrompt(
  ids: Int32Array,
  columns: MediaColumns,
  { given, media, truncatePrompt: limit = Number.POSITIVE_INFINITY }: PromptOptions & { readonly given: InputRow },
): Promise<PromptRequest | undefined> {
  const found = await media.expand(ids, columns, given)
  if (!found) return undefined
  const { length } = found.ids
  // A cut would part placeholders from their pixels.
  if (length > limit)
    throw new InputError(
      `${length} tokens, and cannot be cut to ${limit} (--truncate-prompt): a prompt with images or videos is never cut`,
    )
  const again = async () => (await media.expand(found.ids, columns, given))?.media ?? []
  return { ids: found.ids, media: again }
}

/** Ids are used unchanged. */
function cutIds(ids: Int32Array, { truncatePrompt: limit, truncateSide: side = 'left' }: PromptOptions): Int32Array {
  if (limit === undefined || ids.length <= limit) return ids
  return side === 'left' ? ids.slice(-limit) : ids.slice(0, limit)
}
