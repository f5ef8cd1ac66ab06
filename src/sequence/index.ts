/**
 * A sequence: the token ids a model reads, who made each of them, and which are trained. Data, engines, rewards and losses pass it
 * on; only this room joins ids.
 *
 * @example
 * const prompt = promptSequence({ ids: Int32Array.of(1, 2, 3), promptId: 'row-7', row: {} })
 * const sampled = withSampled(prompt, Int32Array.of(4, 5))
 * const next = withSampled(withObservation(sampled, Int32Array.of(6)), Int32Array.of(7))
 * trainedCount(next) // 3: ids 4, 5 and 7
 */

/** An image or a video, decoded and resized once. The samples of a prompt share it. */
export interface MediaPixels {
  readonly kind: 'image' | 'video'
  /** Names the content: equal hashes mean equal `frames`, `grid` and `secondsPerGrid`. */
  readonly hash: string
  /**
   * Red, green and blue of each pixel, row by row, frame after frame, in the size that the model reads. An image has one frame. Where
   * the last step of the grid needs more frames than there are, the last frame counts for them.
   */
  readonly frames: Uint8Array
  /** Patches along time, height and width. */
  readonly grid: readonly [time: number, height: number, width: number]
  /** Seconds of the video in one step of `grid` along time. */
  readonly secondsPerGrid?: number
}

/** An image or a video at its place in a sequence. */
export interface MediaItem {
  readonly pixels: MediaPixels
  /** Where its placeholder tokens are: one run, or one for each pair of frames where the model reads times as text. */
  readonly runs: readonly { readonly start: number; readonly count: number }[]
}

/** A sound, as its file has it. */
export interface AudioClip {
  readonly bytes: Uint8Array
  /** Samples of a second. */
  readonly samplingRate: number
  readonly mimeType: string
}

/** Local models refuse audio with this message. */
export const audioUnsupported =
  'local models do not support audio, only text, images and videos (Qwen2-VL, Qwen2.5-VL, Qwen3-VL); servers and rewards can take audio'

/** Who made a token: the data set, the policy, or the environment between two turns of the policy. */
export const origins = { prompt: 0, sampled: 1, observation: 2 } as const

export interface Sequence<Row = unknown> {
  readonly ids: Int32Array
  /** A value of `origins` for each token. Text of a data set is `prompt`, the answers of SFT and preference rows too. */
  readonly origin: Uint8Array
  /** 1 where the token is trained. The first token never is, because no token comes before it. */
  readonly trained: Uint8Array
  readonly media: readonly MediaItem[]
  /** Positions that no model reads, ascending: sampled placeholders without an image. They are among the ids and are not trained. */
  readonly unread?: readonly number[]
  /** Names the prompt in random numbers, groups, the journal and errors. Samples of one prompt share it. */
  readonly promptId: string
  /** The row of the data set. */
  readonly row: Row
}

export interface PromptParts<Row> {
  readonly ids: Int32Array
  readonly promptId: string
  readonly row: Row
  readonly media?: readonly MediaItem[]
}

/** A prompt to answer: no token is trained. */
export function promptSequence<Row>({ ids, promptId, row, media = [] }: PromptParts<Row>): Sequence<Row> {
  const { length } = ids
  return { ids, origin: new Uint8Array(length), trained: new Uint8Array(length), media, promptId, row }
}

/** A row of a data set, with a mask of the tokens that are trained. The first token is not trained whatever its mask says. */
export function supervisedSequence<Row>(parts: PromptParts<Row> & { readonly trained: Uint8Array }): Sequence<Row> {
  const { trained } = parts
  if (trained.length !== parts.ids.length)
    throw new RangeError(`trained has ${trained.length} entries for ${parts.ids.length} tokens; give one for each`)
  const sequence = promptSequence(parts)
  sequence.trained.set(trained)
  if (trained.length > 0) sequence.trained[0] = 0
  return sequence
}

/** The sequence with tokens that the policy sampled. They are trained. */
export function withSampled<Row>(sequence: Sequence<Row>, ids: Int32Array): Sequence<Row> {
  return append(sequence, ids, origins.sampled, 1)
}

/** The sequence with tokens of the data set that are trained, such as the answer of a row. */
export function withAnswer<Row>(sequence: Sequence<Row>, ids: Int32Array): Sequence<Row> {
  return append(sequence, ids, origins.prompt, 1)
}

/** The sequence with tokens that the policy reads and did not write, such as the result of a tool. They are not trained. */
export function withObservation<Row>(sequence: Sequence<Row>, ids: Int32Array): Sequence<Row> {
  return append(sequence, ids, origins.observation, 0)
}

/** The sequence with positions that a model does not read. */
export function withUnread<Row>(sequence: Sequence<Row>, unread: readonly number[]): Sequence<Row> {
  const trained = sequence.trained.slice()
  for (const at of unread) trained[at] = 0
  return { ...sequence, trained, unread }
}

/** The sequence as a model reads it: later tokens move up. The number of trained tokens is the same. */
export function asRead<Row>(sequence: Sequence<Row>): Sequence<Row> {
  const { unread, ...rest } = sequence
  if (!unread || unread.length === 0) return sequence
  const left = new Set(unread)
  const kept = <T extends Int32Array | Uint8Array>(values: T): T => values.filter((_, at) => !left.has(at)) as T
  const before = (place: number): number => place - unread.filter(at => at < place).length
  const media = rest.media.map(({ pixels, runs }) => ({
    pixels,
    runs: runs.map(({ start, count }) => ({ start: before(start), count })),
  }))
  return { ...rest, ids: kept(rest.ids), origin: kept(rest.origin), trained: kept(rest.trained), media }
}

/** Ids with more ids behind them, such as a prompt with the part of a response that an engine goes on with. */
export function joinIds(first: Int32Array, rest: ArrayLike<number>): Int32Array {
  const joined = new Int32Array(first.length + rest.length)
  joined.set(first)
  joined.set(rest, first.length)
  return joined
}

function append<Row>(sequence: Sequence<Row>, added: Int32Array, origin: number, trained: 0 | 1): Sequence<Row> {
  const before = sequence.ids.length
  const ids = joinIds(sequence.ids, added)
  const joined = { ids, origin: new Uint8Array(ids.length), trained: new Uint8Array(ids.length) }
  joined.origin.set(sequence.origin)
  joined.origin.fill(origin, before)
  joined.trained.set(sequence.trained)
  if (trained) joined.trained.fill(1, Math.max(before, 1))
  return { ...sequence, ...joined }
}

/** Tokens before the first that the policy sampled: all of them where it sampled none. */
export function promptLength({ origin }: Pick<Sequence, 'origin'>): number {
  const first = origin.indexOf(origins.sampled)
  return first === -1 ? origin.length : first
}

export function promptIds(sequence: Pick<Sequence, 'ids' | 'origin'>): Int32Array {
  return sequence.ids.subarray(0, promptLength(sequence))
}

/** All tokens after the prompt, observations included. */
export function responseIds(sequence: Pick<Sequence, 'ids' | 'origin'>): Int32Array {
  return sequence.ids.subarray(promptLength(sequence))
}

/** Tokens before the first that is trained: the prompt of a row of a data set. */
export function firstTrained({ trained }: Pick<Sequence, 'trained'>): number {
  const first = trained.indexOf(1)
  return first === -1 ? trained.length : first
}

export function trainedCount({ trained }: Pick<Sequence, 'trained'>): number {
  let count = 0
  for (const one of trained) count += one
  return count
}
