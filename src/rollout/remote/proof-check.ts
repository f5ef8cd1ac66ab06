/** Proves that a server has the right weights: it scores a text, and its log-probabilities must equal the trainer's up to rounding. */
import type { WeightsAgreement, WeightsProof } from '../generator.js'
import { resolveSampling } from '../sampling.js'
import type { Dialect, GenerationAttempt } from './dialect.js'
import { EngineError, serverWords, TransportError } from './errors.js'
import type { ResolvedRemoteOptions } from './options.js'
import { parseJson } from './parse-json.js'
import type { Replica } from './replica.js'
import { checkPromptIds, collapsedPrompt, sentMedia } from './sent-media.js'

type ProofText = Pick<WeightsProof, 'ids' | 'media'>

const bfloat16Error = 2 ** -8
/** Largest relative rounding error by dtype; 0 where `float32Limit` covers it. */
const roundingErrors: Readonly<Record<string, number>> = {
  float32: 0,
  float: 0,
  float16: 2 ** -11,
  half: 2 ** -11,
  bfloat16: bfloat16Error,
}
/** Quantizations have many names (fp8, awq, int8). */
const eightBitError = 2 ** -4

/** Servers in float32 differ by about 1e-5. A difference above this limit is not rounding. */
const float32Limit = 1e-3
/** A real model of 30 layers differs by 4 (bfloat16) to 5 (float16) roundings between two implementations. */
const roundings = 8
/** A server whose own noise is larger may differ by more, up to this many. More noise is a fault of the server. */
const mostRoundings = 32

/**
 * The largest mean difference of log-probabilities that rounding explains. It grows with the spread of the log-probabilities: where
 * all tokens are about equally likely, logits are small and so are their rounding errors, while other weights differ by as much as
 * the spread itself.
 */
export function explainedDifference(dtype: string, logprobs: Float32Array): number {
  return Math.max(float32Limit, roundings * (roundingErrors[dtype] ?? eightBitError) * spreadOf(logprobs))
}

/** What the noise of a server explains: its difference to itself where the same text is computed in another shape. */
export function explainedByNoise(noise: number, logprobs: Float32Array): number {
  return Math.min(roundings * noise, mostRoundings * bfloat16Error * spreadOf(logprobs))
}

/** The mean absolute difference of rows of the same length. A server may give none for the tokens of an image: NaN. */
function meanDifference(a: Float32Array, b: Float32Array): number {
  const differences = a.map((value, i) => Math.abs(value - b[i]!)).filter(value => !Number.isNaN(value))
  return differences.reduce((sum, value) => sum + value, 0) / Math.max(1, differences.length)
}

function spreadOf(logprobs: Float32Array): number {
  const mean = logprobs.reduce((sum, value) => sum + value, 0) / Math.max(1, logprobs.length)
  return logprobs.reduce((sum, value) => sum + Math.abs(value - mean), 0) / Math.max(1, logprobs.length)
}

/** How much worse than the first one a float32 proof may be; a difference below `leastLimit` always passes. */
const worseningFactor = 4
const leastLimit = 1e-4

export class ProofCheck {
  private readonly firstDifference = new Map<Replica, number>()

  constructor(
    private readonly dialect: Dialect,
    private readonly options: ResolvedRemoteOptions,
  ) {}

  /** A difference above the limit means other weights. */
  async compare(replica: Replica, proof: WeightsProof): Promise<WeightsAgreement> {
    const found = await this.score(replica, proof)
    if (found.length !== proof.logprobs.length)
      throw new EngineError(
        `${replica.url}: ${found.length} log-probabilities for a proof of ${proof.ids.length} tokens`,
      )
    const difference = meanDifference(found, proof.logprobs)
    const limit = await this.limitFor(replica, proof, { difference, found })
    if (difference <= limit && !this.firstDifference.has(replica)) this.firstDifference.set(replica, difference)
    return { difference, limit }
  }

  /** The option; else what the trainer's dtype explains; else what the server's noise or dtype explains. */
  private async limitFor(
    replica: Replica,
    { ids, media = [], logprobs, dtype = 'float32' }: WeightsProof,
    { difference, found }: { difference: number; found: Float32Array },
  ): Promise<number> {
    const { proofTolerance } = this.options
    if (proofTolerance !== undefined) return proofTolerance
    let limit = explainedDifference(dtype, logprobs)
    const first = this.firstDifference.get(replica)
    // float32 proofs hardly vary: a small step means an update that was loaded in part.
    if (limit === float32Limit && first !== undefined && first <= limit)
      limit = Math.min(limit, Math.max(leastLimit, worseningFactor * first))
    if (difference <= limit) return limit
    limit = Math.max(limit, explainedByNoise(await this.noiseOf(replica, { ids, media }, found), logprobs))
    if (difference <= limit) return limit
    const served = await this.dtypeOf(replica)
    return served === undefined ? limit : Math.max(limit, explainedDifference(served, logprobs))
  }

  /** Scores the text followed by itself: the same log-probabilities, computed in other shapes. */
  private async noiseOf(replica: Replica, { ids, media = [] }: ProofText, found: Float32Array): Promise<number> {
    const twice = Int32Array.of(...ids, ...ids).subarray(0, replica.facts.maxPromptLength)
    if (twice.length <= ids.length) return 0
    // A second copy of the images would need their placeholders: only text is repeated.
    if (media.length > 0) return 0
    return meanDifference(found, (await this.score(replica, { ids: twice })).subarray(0, found.length))
  }

  private async dtypeOf({ client }: Replica): Promise<string | undefined> {
    try {
      return await this.dialect.dtype(client)
    } catch (error) {
      if (error instanceof TransportError && error.kind === 'unreachable') throw error
      return undefined
    }
  }

  private async score(replica: Replica, { ids, media = [] }: ProofText): Promise<Float32Array> {
    const { vocabSize, vision, controlTimeoutMs: timeoutMs } = this.options
    const isMedia = media.length > 0 && vision !== undefined
    const sent = isMedia ? await sentMedia({ media, vision }) : undefined
    const attempt: GenerationAttempt = {
      id: `whetstone-proof-${process.pid}-${performance.now()}`,
      ids,
      media: sent,
      idsJson: `[${(isMedia ? collapsedPrompt(ids, media, vision) : ids).join(',')}]`,
      maxNewTokens: 1,
      minNewTokens: 0,
      temperature: 0,
      seed: 0,
      sampling: resolveSampling({ seed: 0, maxNewTokens: 1, temperature: 0 }, { vocabSize, n: 1 }),
      adapter: replica.adapter,
      promptLogprobs: 0,
      transport: 'whole',
    }
    const prepared = sent && (await this.dialect.prepare?.(replica.client, attempt, replica.facts))
    const { path, body } = this.dialect.generation(attempt, replica.facts, prepared)
    const { status, text } = await replica.client.exchange({ method: 'POST', path, body, timeoutMs }).reply
    if (status !== 200)
      throw new EngineError(
        `${replica.url}: scoring the proof: the server answered ${status}: ${serverWords(replica.client.hide(text))}`,
      )
    const answer = this.dialect.answer(await parseJson(text), attempt, replica.facts)
    if (sent) checkPromptIds(answer, attempt)
    const { promptLogprobs } = answer
    if (!promptLogprobs)
      throw new EngineError(`${replica.url}: the server gave no prompt log-probabilities for the proof`)
    return promptLogprobs.logprobs
  }
}
