/** Local reward models as reward sources. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { MultimodalProcessor } from '../model/index.js'
import { asRead, promptSequence, type Sequence, withObservation } from '../sequence/index.js'
import { type ChatMessage, placedTypes, type Tokenizer } from '../text/index.js'
import { RewardConfigError, SourceError } from './errors.js'
import type { RewardInput } from './input.js'
import type { RewardMedia } from './media.js'
import { defaultLimits, type LimitOptions, type RewardAnswer, type RewardSource, resolveLimits } from './source.js'

/** A model that gives one score per sequence. A `TokenModel` with the role `reward` is one. */
export interface RewardScorer {
  /** Tokens a sequence may have. */
  readonly maxLength?: number
  /** Of a model that reads images and videos, `media` is true. */
  readonly capabilities?: { readonly media: boolean }
  score(
    sequences: readonly (Int32Array | Sequence)[],
    options?: { signal?: AbortSignal },
  ): Promise<readonly { readonly score: number }[]>
}

export interface ModelRewardOptions extends LimitOptions {
  readonly name: string
  readonly model: RewardScorer
  /** The reward model's own, with its chat template. */
  readonly tokenizer: Tokenizer
  /** The policy's: where both have the same `tokenizer.json` the model gets the ids the policy sampled, exactly. */
  readonly policyTokenizer?: Tokenizer
  /** Of a vision-language model: it makes images and videos ready. Without it, the model reads them as the policy does. */
  readonly processor?: Pick<MultimodalProcessor, 'process'>
  /** Tokens in one call of the model. A single longer sequence is a call of its own. Default 32768. */
  readonly batchTokens?: number
  /** Longer sequences are failures of their samples. Default: the model's own limit. */
  readonly maxLength?: number
}

/**
 * A local reward model as a source.
 *
 * @example
 * const model = await LocalModel.load('models/rm', { role: 'reward' })
 * const quality = modelReward({ name: 'quality', model, tokenizer: await Tokenizer.load('models/rm'), policyTokenizer })
 */
export function modelReward(options: ModelRewardOptions): RewardSource {
  const { name, model, tokenizer, policyTokenizer, batchTokens = 32_768 } = options
  const maxLength = options.maxLength ?? model.maxLength ?? Number.POSITIVE_INFINITY
  if (!Number.isInteger(batchTokens) || batchTokens < 1)
    throw new RewardConfigError(
      `reward "${name}": batchTokens should be a whole number of at least 1, got ${batchTokens}`,
    )
  let shared: Promise<SharedIds> | undefined
  return {
    name,
    kind: 'model',
    model,
    limits: resolveLimits(name, defaultLimits.model, options),
    async score(inputs, { signal }) {
      shared ??= sameTokenizer(tokenizer, policyTokenizer)
      const exact = await shared
      const found = await Promise.all(inputs.map(input => sequenceFor(input, options, exact).catch(unrenderable)))
      const sequences = found.map(one => (isFailure(one) ? new Int32Array(0) : one))
      const answers = found.map((one): RewardAnswer => {
        if (isFailure(one)) return one
        const { length } = idsOf(one)
        if (length > 0 && length <= maxLength) return Number.NaN
        return { kind: 'failed', reason: 'input', message: lengthMessage(length, maxLength) }
      })
      for (const batch of batches(sequences, answers, batchTokens)) {
        signal.throwIfAborted()
        await scoreBatch(model, batch, sequences, answers, signal)
      }
      return answers
    },
  }
}

type SharedIds = 'exact' | 'rendered'

/** Whether ids of one tokenizer mean the same to the other: by the bytes of `tokenizer.json`, not by the vocabulary's size. */
async function sameTokenizer(own: Tokenizer, policy: Tokenizer | undefined): Promise<SharedIds> {
  if (!policy) return 'rendered'
  if (policy === own) return 'exact'
  const [a, b] = await Promise.all([own, policy].map(({ dir }) => readFile(join(dir, 'tokenizer.json'))))
  return a!.equals(b!) ? 'exact' : 'rendered'
}

/**
 * The input of the model. Ids of another tokenizer have no meaning for it, so its own chat template renders the conversation
 * again; a prompt that is not a conversation is joined with the response and encoded as text.
 */
async function sequenceFor(
  input: RewardInput,
  { model, tokenizer, processor }: ModelRewardOptions,
  shared: SharedIds,
): Promise<Scored> {
  const { sequence, messages, prompt, response } = input
  const { images = [], videos = [] } = input
  const seen = images.length + videos.length > 0
  if (input.audios?.length)
    throw new SourceError('input', 'the sample has audio, and local reward models do not support audio')
  if (seen && !model.capabilities?.media) throw new SourceError('input', textAlone)
  if (shared === 'exact' && sequence.ids.length > 0 && (!seen || (await readsAlike(input, processor)))) {
    // Text of the template after the end of a turn: reward models read it too.
    const end = messages && (await tokenizer.turnEnd())
    const ended = end !== undefined && sequence.ids.at(-1) === end.id
    const whole = ended ? withObservation(sequence, end.tail) : sequence
    return seen || whole.unread ? whole : whole.ids
  }
  if (!seen)
    return messages ? tokenizer.encodeChat(conversationOf(input, messages)) : tokenizer.encode(prompt + response)
  if (!messages || !processor) throw new SourceError('input', noProcessor)
  const ids = await tokenizer.encodeChat(conversationOf(input, messages), { mediaTypes: placedTypes })
  const made = await processor.process(ids, { images: images.map(asInput), videos: videos.map(asInput) })
  if (made.kind === 'failed') throw new SourceError('input', made.message)
  const { promptId, row } = sequence
  return promptSequence({ ids: made.ids, media: made.media, promptId, row })
}

const conversationOf = ({ response }: RewardInput, messages: readonly ChatMessage[]): readonly ChatMessage[] => [
  ...messages,
  { role: 'assistant', content: response },
]

const textAlone =
  'the sample has images or videos, and this reward model reads text alone; give a vision-language reward model'
const noProcessor =
  'the sample has images or videos, and the reward model reads other tokens than the policy; give the model a processor, and prompts as messages'

/** Whether the model's own processor makes the same of the media as the policy's: then the ids of the policy are those of the model. */
async function readsAlike(
  { sequence, images = [], videos = [] }: RewardInput,
  processor: ModelRewardOptions['processor'],
) {
  if (!processor) return true
  const { ids } = asRead(sequence)
  const made = await processor.process(ids, { images: images.map(asInput), videos: videos.map(asInput) })
  if (made.kind === 'failed') return false
  const grids = (items: readonly { pixels: { grid: readonly number[] } }[]) =>
    items.map(({ pixels }) => pixels.grid).join(' ')
  return grids(made.media) === grids(sequence.media)
}

/** The pixels that the policy read, for another processor. */
function asInput({ kind, pixels: data, width, height, frames, secondsPerGrid }: RewardMedia) {
  if (kind === 'image') return { data, width, height }
  return { data, width, height, frames, ...(secondsPerGrid === undefined ? {} : { fps: 2 / secondsPerGrid }) }
}

type Scored = Int32Array | Sequence

const isFailure = (one: Scored | (RewardAnswer & object)): one is RewardAnswer & object => 'kind' in one

const idsOf = (one: Scored): Int32Array => (one instanceof Int32Array ? one : one.ids)

/** If the template refuses the messages, only this sample fails. */
function unrenderable(error: unknown): RewardAnswer & object {
  const ofSample = error instanceof SourceError && error.reason === 'input'
  if (!ofSample && (error as Error).name !== 'ChatTemplateError') throw error
  return { kind: 'failed', reason: 'input', message: (error as Error).message }
}

/** Indices of sequences of similar length, so many tokens together. */
function batches(sequences: readonly Scored[], answers: readonly RewardAnswer[], batchTokens: number): number[][] {
  const ids = sequences.map(idsOf)
  const order = ids.map((_, i) => i).filter(i => typeof answers[i] === 'number')
  order.sort((a, b) => ids[a]!.length - ids[b]!.length)
  const all: number[][] = []
  let tokens = 0
  for (const i of order) {
    tokens += ids[i]!.length
    if (all.length === 0 || tokens > batchTokens) {
      all.push([])
      tokens = ids[i]!.length
    }
    all.at(-1)!.push(i)
  }
  return all
}

/** If the model names the sequence with a non-finite score, only that sample fails; the others are scored without it. */
async function scoreBatch(
  model: RewardScorer,
  batch: readonly number[],
  all: readonly Scored[],
  answers: RewardAnswer[],
  signal: AbortSignal,
): Promise<void> {
  let left = [...batch]
  while (left.length > 0) {
    try {
      const sequences = left.map(i => all[i]!)
      const scores = await model.score(sequences, { signal })
      if (scores.length !== left.length)
        throw new SourceError('wrong-count', `the model gave ${scores.length} scores for ${left.length} sequences`)
      for (const [k, i] of left.entries()) answers[i] = scores[k]!.score
      return
    } catch (error) {
      const { name, sequence } = error as { name?: unknown; sequence?: unknown }
      if (name !== 'NonFiniteError' || typeof sequence !== 'number' || left[sequence] === undefined) throw error
      answers[left[sequence]!] = Number.NaN
      left = left.filter((_, k) => k !== sequence)
    }
  }
}

function lengthMessage(length: number, maxLength: number): string {
  if (length === 0) return 'no tokens to score'
  return `${length} tokens, and the reward model takes at most ${maxLength}. Generate shorter responses, or raise maxLength.`
}
