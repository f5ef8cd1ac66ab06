/** The protocols of reward servers. */
import { z } from 'zod'
import type { ChatContentPart, ChatMessage } from '../../text/index.js'
import { type MetricValues, metricsOf } from '../aggregated.js'
import { SourceError } from '../errors.js'
import type { RewardInput } from '../input.js'
import { pngFrames } from '../media.js'
import type { RewardAnswer } from '../source.js'

/** What is sent of a sample to vLLM and SGLang: its text with special tokens, its ids, or its conversation. */
export type SentAs = 'text' | 'ids' | 'messages'

interface AskOptions {
  readonly model: string | undefined
  readonly send: SentAs
  readonly labelTokenIds: readonly number[] | undefined
}

type Body = Record<string, unknown>

export interface Dialect {
  /** How images and videos can be sent: always, in messages, or not at all. */
  readonly media: 'sent' | 'in messages' | 'none'
  /** Path for a URL without one. */
  readonly path: string
  /** The supported ways to send samples; the first is the default. */
  readonly sends: readonly SentAs[]
  body(inputs: readonly RewardInput[], options: AskOptions): Body | Promise<Body>
  /** Rewards in the order of the inputs. Throws for an answer of another shape; the caller checks the numbers. */
  read(answer: unknown, count: number): RewardAnswer[]
}

export const dialects = {
  /** LightRFT's remote reward model, with labels, which its documentation has and its client does not send. */
  lightrft: {
    path: '/get_reward',
    sends: ['text'],
    media: 'sent',
    body: async inputs => ({
      queries: inputs.map(input => input.query),
      prompts: inputs.map(input => input.promptRaw),
      labels: inputs.map(input => input.label ?? null),
      references: inputs.map(input => input.target ?? null),
      ...(inputs.some(input => input.images) ? { images: await Promise.all(inputs.map(imagesOf)) } : {}),
      ...(inputs.some(input => input.videos?.length) ? { videos: await Promise.all(inputs.map(videosOf)) } : {}),
      ...(inputs.some(input => input.audios?.length) ? { audios: inputs.map(audiosOf) } : {}),
    }),
    read: readRewards,
  },
  /** OpenRLHF's `serve_rm`. */
  openrlhf: {
    media: 'none',
    path: '/get_reward',
    sends: ['text'],
    body: inputs => ({
      query: inputs.map(input => input.query),
      prompts: inputs.map(input => input.promptRaw),
      labels: inputs.map(input => input.label ?? null),
    }),
    read: readRewards,
  },
  /** Without activation: for one label it would be a sigmoid. */
  'vllm-classify': {
    media: 'in messages',
    path: '/classify',
    sends: ['text', 'ids', 'messages'],
    body: async (inputs, options) => ({ ...(await vllmInput(inputs, options)), use_activation: false }),
    read: (answer, count) => inOrder(parse(classified, answer).data, count).map(({ probs }) => single(probs)),
  },
  'vllm-pooling': {
    media: 'in messages',
    path: '/pooling',
    sends: ['text', 'ids', 'messages'],
    body: async (inputs, options) => ({
      ...(await vllmInput(inputs, options)),
      task: 'classify',
      use_activation: false,
    }),
    read: (answer, count) => inOrder(parse(pooled, answer).data, count).map(({ data }) => single(data)),
  },
  /** Cross-encoders: the prompt is the query, the response is the document. */
  'vllm-score': {
    media: 'none',
    path: '/score',
    sends: ['text'],
    body: (inputs, { model }) => ({
      ...withModel(model),
      queries: inputs.map(input => input.prompt),
      documents: inputs.map(input => input.response),
    }),
    read: (answer, count) => inOrder(parse(pairScored, answer).data, count).map(({ score }) => number(score)),
  },
  'sglang-classify': {
    media: 'none',
    path: '/classify',
    sends: ['text', 'ids'],
    body: (inputs, { model, send }) => ({
      ...withModel(model),
      ...(send === 'ids' ? { input_ids: inputs.map(idsOf) } : { text: inputs.map(input => input.query) }),
    }),
    read: (answer, count) => {
      const list = parse(embedded, answer)
      return counted(Array.isArray(list) ? list : [list], count).map(({ embedding }) => single(embedding))
    },
  },
  /** A language model as a judge: the probability of the first label token among the label tokens. */
  'sglang-score': {
    media: 'none',
    path: '/v1/score',
    sends: ['text'],
    body: ([input], { model, labelTokenIds }) => ({
      ...withModel(model),
      query: input!.prompt,
      items: [input!.response],
      label_token_ids: labelTokenIds,
      apply_softmax: true,
    }),
    read: (answer, count) => counted(parse(labelScored, answer).scores, count).map(([first]) => number(first)),
  },
  /** SGLang's cross-encoders: one query, so one sample, in a request. */
  'sglang-rerank': {
    media: 'none',
    path: '/v1/rerank',
    sends: ['text'],
    body: ([input], { model }) => ({ ...withModel(model), query: input!.prompt, documents: [input!.response] }),
    read: (answer, count) => counted(parse(reranked, answer), count).map(({ score }) => number(score)),
  },
} satisfies Record<string, Dialect>

export type DialectName = keyof typeof dialects

export const dialectNames = Object.keys(dialects) as DialectName[]

/** A dialect whose request holds one sample. */
export function oneAtATime(name: DialectName, send: SentAs): boolean {
  return name === 'sglang-rerank' || name === 'sglang-score' || send === 'messages'
}

const values = z.union([z.array(z.unknown()), z.number(), z.null()])
const metric = z.union([z.number(), z.array(z.number())])
const rewarded = z.object({
  rewards: values.optional(),
  scores: values.optional(),
  extra_logs: z.record(z.string(), z.unknown()).nullish(),
})
const classified = z.object({ data: z.array(z.object({ index: z.int(), probs: z.array(z.unknown()) })) })
const pooled = z.object({ data: z.array(z.object({ index: z.int(), data: z.array(z.unknown()) })) })
const pairScored = z.object({ data: z.array(z.object({ index: z.int(), score: z.unknown() })) })
const embedding = z.object({ embedding: z.array(z.unknown()) })
const embedded = z.union([z.array(embedding), embedding])
const labelScored = z.object({ scores: z.array(z.array(z.unknown()).min(1)) })
const reranked = z.array(z.object({ score: z.unknown() }))

function parse<T>(schema: z.ZodType<T>, answer: unknown): T {
  const result = schema.safeParse(answer)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const where = issue!.path.length > 0 ? `${issue!.path.join('.')}: ` : ''
  throw new SourceError('protocol', `an answer of another shape: ${where}${issue!.message}`)
}

/** `rewards`, or `scores` of some servers; `extra_logs` become metrics. */
function readRewards(answer: unknown, count: number): RewardAnswer[] {
  const { rewards, scores, extra_logs: logs } = parse(rewarded, answer)
  const found = rewards ?? scores
  if (found === undefined || found === null)
    throw new SourceError('protocol', 'an answer of another shape: neither "rewards" nor "scores" is in it')
  const list = counted(Array.isArray(found) ? found : [found], count)
  const metrics: Record<string, MetricValues> = {}
  for (const [name, value] of Object.entries(logs ?? {})) {
    const read = metric.safeParse(value)
    // Other values are ignored.
    if (read.success && (typeof read.data === 'number' || read.data.length === count)) metrics[name] = read.data
  }
  return list.map((value, i) => ({ reward: number(value), metrics: metricsOf(metrics, i, count) }))
}

function counted<T>(list: readonly T[], count: number): readonly T[] {
  if (list.length !== count)
    throw new SourceError('wrong-count', `the server gave ${list.length} rewards for ${count} samples`)
  return list
}

/** Sorts by `index`; each index must come once. */
function inOrder<T extends { index: number }>(list: readonly T[], count: number): readonly T[] {
  const sorted = [...counted(list, count)].sort((a, b) => a.index - b.index)
  if (sorted.some(({ index }, i) => index !== i))
    throw new SourceError('protocol', `the answer's indices are not 0..${count - 1}, each once`)
  return sorted
}

/** The single number of a sample; several mean another kind of model. */
function single(list: readonly unknown[]): number {
  if (list.length === 1) return Array.isArray(list[0]) ? single(list[0]) : number(list[0])
  throw new SourceError('protocol', `${list.length} numbers for a sample; a reward model with one label gives one`)
}

/** JSON writes NaN as null. The caller checks values that are no numbers. */
function number(value: unknown): number {
  return value === null ? Number.NaN : (value as number)
}

/** Texts already have their special tokens: the server must not add a BOS token. */
async function vllmInput(inputs: readonly RewardInput[], { model, send }: AskOptions): Promise<Body> {
  if (send === 'messages') {
    const { response } = inputs[0]!
    const messages = await messagesOf(inputs[0]!)
    return { ...withModel(model), messages: [...messages, { role: 'assistant', content: response }] }
  }
  if (send === 'ids') return { ...withModel(model), input: inputs.map(idsOf) }
  return { ...withModel(model), input: inputs.map(input => input.query), add_special_tokens: false }
}

function withModel(model: string | undefined): Record<string, unknown> {
  return model === undefined ? {} : { model }
}

function idsOf({ sequence: { ids } }: RewardInput): number[] {
  if (ids.length === 0) throw new SourceError('input', 'the sample has no ids; send text instead')
  return [...ids]
}

/** Each image as the policy reads it: a PNG in base64. */
async function imagesOf({ images }: RewardInput): Promise<string[] | null> {
  return images ? Promise.all(images.map(async image => (await pngFrames(image))[0]!)) : null
}

/** Each video as the list of its frames. */
async function videosOf({ videos }: RewardInput): Promise<(readonly string[])[] | null> {
  return videos ? Promise.all(videos.map(pngFrames)) : null
}

function audiosOf({ audios }: RewardInput): { data: string; sampling_rate: number }[] | null {
  if (!audios) return null
  return audios.map(({ bytes, samplingRate }) => ({
    data: Buffer.from(bytes).toString('base64'),
    sampling_rate: samplingRate,
  }))
}

/** The conversation with the media at their places, as vLLM takes them: images as PNG, videos as lists of PNG frames. */
async function messagesOf({ messages, images = [], videos = [] }: RewardInput): Promise<readonly ChatMessage[]> {
  if (!messages) throw new SourceError('input', 'the sample has no messages; send text or ids instead')
  const urls = {
    image: await Promise.all(images.map(async one => `data:image/png;base64,${(await pngFrames(one))[0]}`)),
    video: await Promise.all(videos.map(async one => `data:video/jpeg;base64,${(await pngFrames(one)).join(',')}`)),
  }
  const next = { image: 0, video: 0 }
  const part = (given: ChatContentPart): ChatContentPart => {
    const { type } = given
    if (type !== 'image' && type !== 'video') return given
    const url = urls[type][next[type]++]
    if (url === undefined) throw new SourceError('input', `the messages have more places for a ${type} than there are`)
    return { type: `${type}_url`, [`${type}_url`]: { url } }
  }
  return messages.map(message =>
    Array.isArray(message.content) ? { ...message, content: message.content.map(part) } : message,
  )
}
