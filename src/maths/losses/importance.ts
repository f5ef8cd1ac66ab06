/**
 * Truncated importance sampling: an engine that samples with other kernels or numbers than the trainer's draws from a slightly
 * different policy. Token losses are weighed by min(exp(old - engine), tisCap), without gradient.
 */

export interface ImportanceCounts {
  /** Sum of the weights. */
  sum: number
  /** Tokens whose weight was cut to the cap. */
  capped: number
  /** Tokens with weight 1 because the sampler was told to change their distribution. */
  altered: number
}

/** Writes the weight of each token of a sample into `weights`, and adds to `counts`. */
export function importanceWeights(options: {
  oldLogprobs: ArrayLike<number>
  engineLogprobs: ArrayLike<number>
  altered: ArrayLike<number> | undefined
  tisCap: number
  weights: Float64Array
  counts: ImportanceCounts
}): void {
  const { oldLogprobs, engineLogprobs, altered, tisCap, weights, counts } = options
  let sum = 0
  for (let t = 0; t < oldLogprobs.length; t++) {
    let weight = 1
    if (altered?.[t]) counts.altered++
    else {
      weight = Math.exp(oldLogprobs[t]! - engineLogprobs[t]!)
      if (weight > tisCap) {
        weight = tisCap
        counts.capped++
      }
    }
    weights[t] = weight
    sum += weight
  }
  counts.sum += sum
}

/**
 * Mask of altered tokens: the sampler changed their distribution, so the log-probabilities of the engine are not comparable.
 * These are the first token with its own temperature (FIRE), and tokens before `minNewTokens`, where the end of sequence was
 * forbidden.
 */
export function alteredTokens(options: {
  length: number
  /** Sampled tokens of each turn of an episode: every turn is sampled with these settings. Default: one turn. */
  turns?: readonly number[] | undefined
  temperature: number
  firstTemperature?: number | undefined
  minNewTokens: number
}): Uint8Array {
  const { length, temperature, firstTemperature = temperature, minNewTokens, turns = [length] } = options
  const altered = new Uint8Array(length)
  const count = firstTemperature !== temperature ? Math.max(1, minNewTokens) : minNewTokens
  let start = 0
  for (const turn of turns) {
    altered.fill(1, start, Math.min(start + count, start + turn))
    start += turn
  }
  return altered
}

/**
 * Why importance weights are not possible with these sampling settings: filters change every distribution, and log-probabilities
 * must be `processed`. Empty if they are possible.
 */
export function importanceProblems(sampler: {
  topP?: number | undefined
  topK?: number | undefined
  minP?: number | undefined
  /** The meanings of the log-probabilities the engine reports. */
  logprobs: readonly string[]
}): string[] {
  const { topP = 1, topK = -1, minP = 0, logprobs } = sampler
  const filters = [topP < 1 && `topP is ${topP}`, topK > 0 && `topK is ${topK}`, minP > 0 && `minP is ${minP}`]
  const problems = filters
    .filter(filter => filter !== false)
    .map(filter => `tisCap: needs sampling without filters, and ${filter}; remove one of them`)
  if (!logprobs.includes('processed'))
    problems.push(
      `tisCap: needs log-probabilities of the sampling distribution (processed); this engine reports ${logprobs.length === 0 ? 'none' : logprobs.join(', ')}`,
    )
  return problems
}
