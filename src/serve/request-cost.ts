/** An upper bound of a request's memory, computed before it runs. Pure. */

interface CostInput {
  /** Tokens of each prompt after truncation. */
  promptLengths: readonly number[]
  /** Choices of each prompt. */
  n: number
  maxLength: number
  /** Undefined: the rest of the context. */
  maxTokens: number | undefined
  /** Alternatives at every sampled token; undefined: no log-probabilities. */
  logprobs: number | undefined
  /** Alternatives at every prompt token. */
  promptLogprobs: number | undefined
}

export interface RequestCost {
  /** Prompts times choices. */
  samples: number
  /** Tokens of prompts and responses with log-probabilities. */
  positions: number
  /** Log-probabilities, with alternatives. */
  logprobs: number
  /** Upper bound of its memory, with the answer. */
  bytes: number
}

/** Bytes, measured on Node 20 and rounded up. */
const perSample = 4096
const perToken = 64
/** The object of a token's log-probabilities and its two lists. */
const perPosition = 400
/** A log-probability as text: `"151643":{"logprob":-12.345678901,"rank":20,"decoded_token":" word"},`. */
const perLogprob = 80

export function requestCost({
  promptLengths,
  n,
  maxLength,
  maxTokens = maxLength,
  logprobs,
  promptLogprobs,
}: CostInput): RequestCost {
  const cost: RequestCost = { samples: 0, positions: 0, logprobs: 0, bytes: 0 }
  for (const length of promptLengths) {
    const response = Math.max(0, Math.min(maxTokens, maxLength - length))
    const told =
      (logprobs === undefined ? 0 : response * (logprobs + 1)) +
      (promptLogprobs === undefined ? 0 : length * (promptLogprobs + 1))
    const positions = (logprobs === undefined ? 0 : response) + (promptLogprobs === undefined ? 0 : length)
    cost.samples += n
    cost.positions += n * positions
    cost.logprobs += n * told
    cost.bytes += n * (perSample + perToken * (length + response) + perPosition * positions + perLogprob * told)
  }
  return cost
}

/** The cost in words, for a message. */
export const describeCost = ({ samples, positions, logprobs, bytes }: RequestCost): string =>
  `${megabytes(bytes)} (${samples} choices, log-probabilities of ${positions} tokens, ${logprobs} with alternatives)`

export const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`
