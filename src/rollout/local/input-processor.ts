/** Checks a request, truncates its prompt, and makes its samples or refuses it. */
import type { VisionConfig } from '../../decoder/index.js'
import { audioUnsupported } from '../../sequence/index.js'
import type { Tokenizer } from '../../text/index.js'
import type { GenerationRequest, Rejection } from '../generator.js'
import { resolveSampling, truncated } from '../sampling.js'
import { TextStream } from '../text-stream.js'
import { blocksFor } from './blocks.js'
import { type Listener, RequestState, SequenceState } from './request-state.js'
import { type PromptMedia, promptMedia } from './step-media.js'

/** Limits of an engine. */
export interface Limits {
  vocabSize: number
  /** Tokens of a sequence. */
  maxLength: number
  /** Blocks of the KV cache; while the engine sleeps, the number it had. */
  blocks: number
  eosIds: readonly number[]
  tokenizer: Tokenizer | undefined
  /** Of models that read images and videos. */
  vision?: VisionConfig | undefined
}

export type Refusal = Pick<Rejection, 'kind' | 'reason' | 'message'>

/** Throws a RangeError for a wrong parameter. Returns rejections, one for each sample, for a prompt that cannot be answered. */
export function admit(request: GenerationRequest, listener: Listener, limits: Limits): RequestState | Rejection[] {
  const { n = 1, firstSample = 0 } = request
  if (!Number.isSafeInteger(n) || n < 1) throw new RangeError(`n should be a positive integer, got ${n}`)
  if (request.session !== undefined && n > 1) throw new RangeError(`a request of a session has one sample, got n ${n}`)
  const { maxLength, tokenizer, vocabSize } = limits
  const sampling = resolveSampling(request.sampling, { vocabSize, n })
  if ((sampling.stop.length > 0 || sampling.text) && !tokenizer)
    throw new RangeError('stop strings and text need an engine with a tokenizer')
  const promptIds = truncated(request.promptIds, sampling.truncatePromptTokens)
  const { maxNewTokens: asked } = sampling
  const shown = mediaOf(request, promptIds, limits)
  const media = shown && 'items' in shown ? shown : undefined
  // A video may reach further in time than it has tokens; rope positions end where lengths do.
  const reach = promptIds.length + Math.max(0, media?.positions.delta ?? 0)
  const maxNew = Array.from({ length: n }, (_, i) =>
    Math.min(typeof asked === 'number' ? asked : asked[i]!, maxLength - reach),
  )
  const refused = shown && 'reason' in shown ? shown : refuse(promptIds, reach, Math.max(...maxNew), limits)
  if (refused) {
    const { id: requestId, promptId = requestId } = request
    return maxNew.map((_, i) => ({ ...refused, requestId, promptId, sample: firstSample + i, seed: sampling.seed }))
  }
  const requestState = new RequestState(request, promptIds, sampling, limits, listener, media)
  for (const [i, max] of maxNew.entries()) {
    const sample = new SequenceState(requestState, firstSample + i, max)
    if (sampling.stop.length > 0 || (sampling.text && listener.onToken))
      sample.text = textStream(requestState, tokenizer!)
    requestState.samples.push(sample)
  }
  return requestState
}

function mediaOf(
  { media = [], audios = [], promptIds: whole }: GenerationRequest,
  promptIds: Int32Array,
  { vision }: Limits,
): PromptMedia | Refusal | undefined {
  if (audios.length > 0) return { kind: 'rejected', reason: 'media-unsupported', message: audioUnsupported }
  if (media.length > 0 && vision && promptIds.length < whole.length) {
    const message = `the prompt has ${whole.length} tokens and images or videos; only text is truncated`
    return { kind: 'rejected', reason: 'prompt-too-long', message }
  }
  return vision || media.length > 0 ? promptMedia(promptIds, media, vision) : undefined
}

function refuse(promptIds: Int32Array, reach: number, maxNew: number, limits: Limits): Refusal | undefined {
  const kind = 'rejected'
  const { vocabSize, maxLength } = limits
  if (promptIds.length === 0) return { kind, reason: 'empty-prompt', message: 'the prompt has no tokens' }
  if (reach >= maxLength) {
    const message = `the prompt has ${reach} tokens; with one to generate, ${maxLength} is the limit`
    return { kind, reason: 'prompt-too-long', message }
  }
  // A plain loop: a call for every token of every prompt takes eight times as long.
  for (let i = 0; i < promptIds.length; i++) {
    const id = promptIds[i]!
    if (!(id >= 0 && id < vocabSize))
      return { kind, reason: 'token-out-of-range', message: `token id ${id} is outside the vocabulary of ${vocabSize}` }
  }
  return tooLargeForMemory(promptIds.length + maxNew, limits)
}

/** Why a sequence of this length does not fit the KV cache. */
export function tooLargeForMemory(length: number, { blocks }: Pick<Limits, 'blocks'>): Refusal | undefined {
  // The last token is sampled and not stored.
  const needed = blocksFor(length - 1)
  if (needed <= blocks) return undefined
  const message = `prompt and response may need ${needed} blocks of 16 tokens, the KV cache has ${blocks}`
  return { kind: 'rejected', reason: 'too-large-for-memory', message }
}

export function textStream({ promptIds, sampling: { text, stop } }: RequestState, tokenizer: Tokenizer): TextStream {
  return new TextStream(tokenizer, promptIds, { skipSpecialTokens: text !== 'with-special', stop })
}
