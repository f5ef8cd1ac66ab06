/** How the toy chooses a token: the steps a server takes, in its order, one token at a time. */

import type { ToyToken } from './toy-engine.js'
import { logSoftmax, toyVocabSize, uniform } from './toy-model.js'

export interface ToySampling {
  /** 0: the likeliest. */
  readonly temperature: number
  readonly topK: number
  readonly topP: number
  readonly minP: number
  /** Undefined: random numbers of the server's own. */
  readonly seed: number | undefined
  readonly bias: Readonly<Record<string, number>> | undefined
  /** What a grammar allows here; undefined: everything. */
  readonly allowed: ((id: number) => boolean) | undefined
}

/** Log-probabilities of what is drawn from, and of what is reported under a mode. */
export function distributions(
  raw: Float64Array,
  sampling: ToySampling & { mode: 'raw' | 'scaled' | 'processed'; forbidden: readonly number[] },
): { drawn: Float64Array; reported: Float64Array } {
  const { temperature, topK, topP, minP, bias, allowed, mode, forbidden } = sampling
  const biased = raw.slice()
  if (bias) for (const [id, by] of Object.entries(bias)) biased[Number(id)]! += by
  if (allowed) for (let id = 0; id < biased.length; id++) if (!allowed(id)) biased[id] = Number.NEGATIVE_INFINITY
  for (const id of forbidden) biased[id] = Number.NEGATIVE_INFINITY
  const scaled = logSoftmax(temperature === 0 ? biased : biased.map(logit => logit / temperature))
  if (temperature === 0) return { drawn: scaled, reported: mode === 'raw' ? logSoftmax(raw) : scaled }
  if (topK <= 0 && topP >= 1 && minP <= 0) return { drawn: scaled, reported: mode === 'raw' ? logSoftmax(raw) : scaled }
  const order = [...scaled.keys()].sort((a, b) => scaled[b]! - scaled[a]!)
  const kept = new Set(topK > 0 ? order.slice(0, topK) : order)
  const sum = [...kept].reduce((total, id) => total + Math.exp(scaled[id]!), 0)
  let mass = 0
  for (const id of order) {
    if (mass >= topP * sum || scaled[id]! < scaled[order[0]!]! + Math.log(minP)) kept.delete(id)
    mass += Math.exp(scaled[id]!)
  }
  const drawn = logSoftmax(scaled.map((logprob, id) => (kept.has(id) ? logprob : Number.NEGATIVE_INFINITY)))
  return { drawn, reported: mode === 'raw' ? logSoftmax(raw) : mode === 'scaled' ? scaled : drawn }
}

/** A token by its cumulative probability; `random` is a hash. */
export function choose(logprobs: Float64Array, temperature: number, random: number): number {
  if (temperature === 0) return logprobs.indexOf(logprobs.reduce((a, b) => Math.max(a, b)))
  let left = uniform(random)
  for (let id = 0; id < toyVocabSize; id++) {
    left -= Math.exp(logprobs[id]!)
    if (left < 0) return id
  }
  return logprobs.indexOf(logprobs.reduce((a, b) => Math.max(a, b)))
}

export function ranked(id: number, logprobs: Float64Array, top: number): ToyToken {
  const logprob = (of: number): number => Math.fround(logprobs[of]!)
  let rank = 1
  for (let other = 0; other < logprobs.length; other++) if (logprobs[other]! > logprobs[id]!) rank++
  const order = top === 0 ? [] : [...logprobs.keys()].sort((a, b) => logprobs[b]! - logprobs[a]!).slice(0, top)
  return { id, logprob: logprob(id), rank, top: order.map(other => ({ id: other, logprob: logprob(other) })) }
}
