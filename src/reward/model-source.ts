/** Local reward models as reward sources. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withObservation } from '../sequence/index.js'
import type { ChatMessage, Tokenizer } from '../text/index.js'
import { RewardConfigError, SourceError } from './errors.js'
import type { RewardInput } from './input.js'
import { defaultLimits, type LimitOptions, type RewardAnswer, type RewardSource, resolveLimits } from './source.js'

/** A model that gives one score per sequence. A `TokenModel` with the role `reward` is one. */
export interface RewardScorer {
  /** Tokens a sequence may have. */
  readonly maxLength?: number
  score(
    sequences: readonly Int32Array[],
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
      const found = await Promise.all(inputs.map(input => sequenceFor(input, tokenizer, exact).catch(unrenderable)))
      const ids = found.map(one => (one instanceof Int32Array ? one : new Int32Array(0)))
      const answers = found.map((one): RewardAnswer => {
        if (!(one instanceof Int32Array)) return one
        if (one.length > 0 && one.length <= maxLength) return Number.NaN
        return { kind: 'failed', reason: 'input', message: lengthMessage(one.length, maxLength) }
      })
      for (const batch of batches(ids, answers, batchTokens)) {
        signal.throwIfAborted()
        await scoreBatch(model, batch, ids, answers, signal)
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
async function sequenceFor(input: RewardInput, tokenizer: Tokenizer, shared: SharedIds): Promise<Int32Array> {
  const { sequence, messages, prompt, response } = input
  if (shared === 'exact' && sequence.ids.length > 0) {
    // Text of the template after the end of a turn: reward models read it too.
    const end = messages && (await tokenizer.turnEnd())
    const ended = end !== undefined && sequence.ids.at(-1) === end.id
    return ended ? withObservation(sequence, end.tail).ids : sequence.ids
  }
  if (!messages) return tokenizer.encode(prompt + response)
  const conversation: ChatMessage[] = [...messages, { role: 'assistant', content: response }]
  return tokenizer.encodeChat(conversation)
}

/** If the template refuses the messages, only this sample fails. */
function unrenderable(error: unknown): RewardAnswer & object {
  if ((error as Error).name !== 'ChatTemplateError') throw error
  return { kind: 'failed', reason: 'input', message: (error as Error).message }
}

/** Indices of sequences of similar length, so many tokens together. */
function batches(ids: readonly Int32Array[], answers: readonly RewardAnswer[], batchTokens: number): number[][] {
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
  ids: readonly Int32Array[],
  answers: RewardAnswer[],
  signal: AbortSignal,
): Promise<void> {
  let left = [...batch]
  while (left.length > 0) {
    try {
      const sequences = left.map(i => ids[i]!)
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
