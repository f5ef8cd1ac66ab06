/** What a model gives to token sequences. */
import type { Devices } from '../distributed/index.js'
import { InputError } from '../errors/index.js'
import {
  LocalModel,
  type MultimodalProcessor,
  NonFiniteError,
  type Outputs,
  type Role,
  readConfig,
  type ScoreOptions,
  type TokenModel,
} from '../model/index.js'
import { count, type Report, silentReport } from '../progress/index.js'
import { trainedCount } from '../sequence/index.js'
import type { Device } from '../tensor/index.js'
import { type ChatMessage, Tokenizer } from '../text/index.js'
import type { MediaSettings } from '../train/index.js'
import { type ColumnOptions, type InputRow, type InputRows, openInput } from './input-rows.js'
import { checkNames, named } from './known-options.js'
import { locateGiven } from './locate-given.js'
import { MediaInput, type RowMedia } from './media-input.js'
import { loadRankedModel } from './open-ranks.js'
import { ScoreInput, type ScoreRequest } from './score-input.js'

/** A sequence of token ids, a prompt with its response, or a conversation; also rows with the columns that SFT reads. Other fields are ignored. */
export type ScoreRow = (
  | { readonly ids: readonly number[] | Int32Array }
  | { readonly prompt: string; readonly response: string }
  | { readonly messages: readonly ChatMessage[] }
) &
  RowMedia

export interface ScoreRowsOptions extends ColumnOptions {
  /** A model directory, an id of the Hub, or a model of the program. */
  readonly model: string | LocalModel
  /** What SFT reads (a file, a pattern, a folder, an id of the Hub), or rows. */
  readonly data: InputRows<ScoreRow>
  /** In place of the one in the model's directory; a model of the program needs it for rows that are texts. */
  readonly tokenizer?: Tokenizer
  /** In place of the one in the model's directory; a model of the program needs it for rows with images or videos. */
  readonly processor?: MultimodalProcessor
  /** How images and videos are read, as in a training: bounds on pixels, URLs, the ffmpeg. Not beside `processor`. */
  readonly media?: MediaSettings
  /** A LoRA adapter in PEFT's format. */
  readonly adapter?: string
  readonly device?: Device
  /** Ranks that compute together: all GPUs, a number of them (or of processes that share a CPU), or a list. Default: this process. */
  readonly devices?: Devices | undefined
  /** Default `auto`. */
  readonly chatTemplate?: string
  /** Default `on`; affects speed, not results. */
  readonly packing?: 'on' | 'off'
  readonly signal?: AbortSignal
  readonly report?: Report
}

/** Numbers of a sequence: one for each token that was asked for, or one for the whole from a reward model. */
export type Scored = {
  /** Of the whole sequence. */
  readonly tokens: number
} & (
  | { readonly logprobs: Float32Array; readonly entropies: Float32Array; readonly score?: undefined }
  | { readonly score: number }
)

/** Rows are scored this many tokens or rows at a time: enough to make good batches of, little to hold in memory. */
const windowTokens = 1 << 16
const windowRows = 4096

const optionNames = named(
  ...(['model', 'data', 'columns', 'tokenizer', 'processor', 'media', 'adapter', 'device', 'devices'] as const),
  ...(['chatTemplate', 'packing', 'signal', 'report'] as const),
)

/**
 * Scores in the order of the rows. All rows are checked before a model is loaded.
 *
 * @example
 * import { score } from 'whetstone'
 * for await (const scored of score({ model: 'model', data: [{ prompt: 'What is 2 + 2?', response: '4' }] })) console.log(scored)
 */
export async function* score(options: ScoreRowsOptions): AsyncGenerator<Scored, void> {
  checkNames('score', options, optionNames, ['model', 'data'])
  const { chatTemplate = 'auto', packing = 'on', report = silentReport } = options
  const { signal = new AbortController().signal } = options
  const { model: given, adapter } = await locateGiven(options, { report, signal })
  const live = given instanceof LocalModel
  const findTokenizer = async (): Promise<Tokenizer> => {
    if (options.tokenizer) return options.tokenizer
    if (!live) return Tokenizer.load(given, { chatTemplate })
    throw new InputError('tokenizer: missing; a model object needs one for text rows')
  }
  // Loaded when a row first needs it: a file of ids needs none.
  let loaded: Promise<Tokenizer> | undefined
  const tokenizer = () => {
    loaded ??= findTokenizer()
    return loaded
  }
  const config = live ? given.config : await readConfig(given)
  const { columns = {} } = options
  const directory = live ? undefined : given
  const { processor, media: settings } = options
  const media = new MediaInput({ config, directory, processor, settings, tokenizer, signal })
  const requests = new ScoreInput(config, { chatTemplate, columns, tokenizer, media })
  const read = (row: InputRow): Promise<ScoreRequest> => requests.request(row)
  // Rows are read twice: to be checked, and to be scored.
  const input = await openInput(options.data, { reads: 'again', report, signal })
  try {
    let total = 0
    for await (const { sequence } of input.rows(read)) total += sequence.ids.length
    const { model, close } = live
      ? { model: given, close: async () => {} }
      : await load(given, { ...options, ...(adapter === undefined ? {} : { adapter }), signal }, report)
    const scoring = report.transfer('scoring', count('tokens', 100_000))
    try {
      let done = 0
      for await (const window of windows(input.rows(read))) {
        const tokens = window.reduce((sum, { sequence }) => sum + sequence.ids.length, 0)
        const onProgress = (scored: number) => scoring.at(done + (tokens * scored) / window.length, total)
        yield* await scoreWindow(model, window, { packing, signal, onProgress })
        done += tokens
      }
    } finally {
      scoring.end()
      await close()
    }
  } finally {
    await input.close()
  }
}

async function load(directory: string, { adapter, device, devices, signal }: ScoreRowsOptions, report: Report) {
  const loading = report.transfer('loading')
  return loadRankedModel(directory, {
    ...{ device, devices },
    ...(signal ? { signal } : {}),
    ...(adapter === undefined ? {} : { adapter }),
    onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
  }).finally(() => loading.end())
}

async function* windows(all: AsyncIterable<ScoreRequest>): AsyncGenerator<ScoreRequest[]> {
  let requests: ScoreRequest[] = []
  let tokens = 0
  for await (const request of all) {
    requests.push(request)
    tokens += request.sequence.ids.length
    if (tokens < windowTokens && requests.length < windowRows) continue
    yield requests
    requests = []
    tokens = 0
  }
  if (requests.length > 0) yield requests
}

async function scoreWindow(
  model: TokenModel,
  requests: readonly ScoreRequest[],
  options: Pick<ScoreOptions, 'packing' | 'signal' | 'onProgress'>,
): Promise<Scored[]> {
  // A reward model scores every sequence; what has no trained token has no log-probabilities.
  const asked = requests.filter(({ sequence }) => model.role === 'reward' || trainedCount(sequence) > 0)
  const sequences = asked.map(({ sequence }) => sequence)
  const results = await model
    .score(sequences, { ...options, entropy: model.role === 'language' })
    .catch((error: unknown) => {
      if (!(error instanceof NonFiniteError)) throw error
      throw new InputError(`${asked[error.sequence]!.where}: the model's output is not finite`, { cause: error })
    })
  const answers = new Map(asked.map((request, i) => [request, results[i]!]))
  return requests.map(request => scoredOf(answers.get(request), request.sequence.ids.length))
}

const none = new Float32Array(0)

function scoredOf(result: Outputs[Role] | undefined, tokens: number): Scored {
  if (result && 'score' in result) return { tokens, score: result.score }
  const { logprobs = none, entropies = none } = (result ?? {}) as Partial<Outputs['language']>
  return { tokens, logprobs, entropies }
}
