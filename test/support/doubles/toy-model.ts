/**
 * A language model small enough to compute by hand: the next token's distribution is a function of the ids before it and of the
 * weights alone. It has what goes wrong in real ones: keys and values (a state per position) that belong to the weights that
 * computed them, and an output head that an update can forget.
 */
import { ToyTransformer, type TransformerState } from './toy-transformer.js'

export const toyVocabSize = 320
export const toyEosId = 2

/** `layers` make the states, `head` reads logits from them. A checkpoint's version names both. */
export interface ToyWeights {
  readonly layers: number
  readonly head: number
}

export const toyWeights = (version: number): ToyWeights => ({ layers: version, head: version })

/** The weights with an adapter of this version over them. */
export const adapted = ({ layers, head }: ToyWeights, adapter: number): ToyWeights => ({
  layers: mix(layers, adapter + 0x5eed),
  head,
})

/** What a double computes with: the toy's own weights, or a transformer that was read from a directory. */
export type ServedWeights = ToyWeights | ToyTransformer
export type ServedState = number | TransformerState

export function servedState(state: ServedState | undefined, id: number, weights: ServedWeights): ServedState {
  if (weights instanceof ToyTransformer) return weights.next(typeof state === 'object' ? state : undefined, id)
  return nextState(typeof state === 'number' ? state : emptyState, id, weights)
}

export function servedLogits(state: ServedState, weights: ServedWeights): Float64Array {
  if (weights instanceof ToyTransformer) return weights.logits(state as TransformerState)
  return logitsOf(state as number, weights)
}

/** The state before the first token. */
export const emptyState = 0x7031

/** The state after one more token. */
export const nextState = (state: number, id: number, { layers }: ToyWeights): number => mix(mix(state, id), layers)

export function logitsOf(state: number, { head }: ToyWeights): Float64Array {
  const logits = new Float64Array(toyVocabSize)
  const key = mix(state, head)
  for (let id = 0; id < toyVocabSize; id++) logits[id] = 4 * uniform(mix(key, id))
  return logits
}

export function logSoftmax(logits: Float64Array): Float64Array {
  let most = Number.NEGATIVE_INFINITY
  for (let id = 0; id < logits.length; id++) most = Math.max(most, logits[id]!)
  let sum = 0
  for (let id = 0; id < logits.length; id++) sum += Math.exp(logits[id]! - most)
  const log = Math.log(sum)
  const found = new Float64Array(logits.length)
  for (let id = 0; id < logits.length; id++) found[id] = logits[id]! - most - log
  return found
}

/** Raw log-probabilities of the tokens from the second on: what a proof of these weights has. */
export function toyLogprobs(ids: ArrayLike<number>, weights: ToyWeights): Float32Array {
  const found = new Float32Array(Math.max(0, ids.length - 1))
  let state = emptyState
  for (let i = 0; i + 1 < ids.length; i++) {
    state = nextState(state, ids[i]!, weights)
    found[i] = logSoftmax(logitsOf(state, weights))[ids[i + 1]!]!
  }
  return found
}

/** The likeliest tokens after a prompt, one after another. */
export function toyGreedy(promptIds: ArrayLike<number>, count: number, weights: ToyWeights): number[] {
  let state = emptyState
  for (let i = 0; i < promptIds.length; i++) state = nextState(state, promptIds[i]!, weights)
  return Array.from({ length: count }, () => {
    const logits = logitsOf(state, weights)
    const best = logits.indexOf(logits.reduce((a, b) => Math.max(a, b)))
    state = nextState(state, best, weights)
    return best
  })
}

/** Two integers into one of 32 bits that looks random (murmur3's last step). */
export function mix(a: number, b: number): number {
  let h = Math.imul((a ^ 0x9e3779b9) | 0, 0x85ebca6b) ^ Math.imul((b + 0x7f4a7c15) | 0, 0xc2b2ae35)
  h ^= h >>> 16
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

export const uniform = (hash: number): number => (hash + 0.5) / 2 ** 32

/** A text per token: a space and the id in letters and digits, so that texts of tokens can be told apart. */
export const toyText = (ids: readonly number[]): string => ids.map(id => ` ${id.toString(36)}`).join('')
