/**
 * FIRE sampling with a first temperature above the server's limit (vLLM: 2). The server gives its `topK` likeliest tokens, and the first
 * token is drawn from them here.
 */
import { hash } from 'node:crypto'
import type { TopLogprobs } from '../generator.js'
import type { ResolvedSampling } from '../sampling.js'
import type { GenerationAnswer } from './dialect.js'
import { ProtocolError } from './errors.js'
import type { RemoteLimits } from './request-task.js'

/**
 * The seed of one request. It depends on the offset: a server that restarts its random numbers with each request would repeat
 * those of the first part of a response. 48 bits, which every server accepts.
 */
export function attemptSeed(seed: number, promptId: string, sample: number, offset: number): number {
  return Number.parseInt(hash('sha256', `${seed}\0${sample}\0${offset}\0${promptId}`, 'hex').slice(0, 12), 16)
}

type Settings = Pick<ResolvedSampling, 'temperature' | 'firstTemperature'>

export function isHot(
  { firstTemperature }: Settings,
  { maxTemperature }: Pick<RemoteLimits, 'maxTemperature'>,
): boolean {
  return firstTemperature > maxTemperature
}

/** Throws a RangeError where the client cannot draw as the server would. */
export function checkHot(sampling: ResolvedSampling, limits: RemoteLimits): void {
  if (!isHot(sampling, limits)) return
  const { topK, firstTemperature, ignoreEos } = sampling
  const hot = `firstTemperature ${firstTemperature}: the server takes at most ${limits.maxTemperature}, so the client draws the first token`
  if (topK === -1 || topK > limits.topLogprobs)
    throw new RangeError(
      `${hot} from the ${limits.topLogprobs} likeliest tokens: set topK to at most that (vLLM: or start it with --max-logprobs)`,
    )
  if (!ignoreEos && !limits.tokenizer)
    throw new RangeError(`${hot} and must know the end-of-sequence token: give the engine a tokenizer`)
  if (sampling.structured) throw new RangeError(`${hot}, and cannot apply structured output`)
}

/** Sampling that returns the likeliest tokens of the model's own distribution, unfiltered. */
export function hotQuestion(sampling: ResolvedSampling, { topLogprobs }: RemoteLimits): ResolvedSampling {
  return { ...sampling, topK: -1, topP: 1, minP: 0, topLogprobs }
}

/** Replaces the server's token by the drawn one. */
export function drawHot(
  answer: GenerationAnswer,
  given: { sampling: ResolvedSampling; limits: RemoteLimits; promptId: string; sample: number },
): GenerationAnswer {
  const { sampling, limits, promptId, sample } = given
  const [likeliest] = answer.top ?? []
  if (!likeliest) throw new ProtocolError('the answer has no likeliest tokens for the first token')
  const eosIds = sampling.ignoreEos ? [] : (limits.tokenizer?.stopIds ?? [])
  const stops = new Set([...eosIds, ...sampling.stopIds])
  const never = new Set([...sampling.forbiddenIds, ...(sampling.minNewTokens > 0 ? stops : [])])
  // Offset -1: equals the seed of no request.
  const uniform = attemptSeed(sampling.seed, promptId, sample, -1) / 2 ** 48
  const { place, logprob } = draw(likeliest, never, sampling, uniform)
  const id = likeliest.ids[place]!
  const isEos = id === eosIds[0] && !sampling.stopIds.includes(id)
  const { topLogprobs: shown } = sampling
  return {
    ...answer,
    ids: [id],
    logprobs: [limits.logprobs === 'raw' ? likeliest.logprobs[place]! : logprob],
    top:
      shown === undefined
        ? undefined
        : [{ rank: place + 1, ids: likeliest.ids.slice(0, shown), logprobs: likeliest.logprobs.slice(0, shown) }],
    finish: stops.has(id) ? { reason: 'stop', stop: isEos ? undefined : id } : { reason: 'length', stop: undefined },
  }
}

/** Draws one token after temperature, top-k, top-p and min-p. */
function draw(
  { ids, logprobs }: TopLogprobs,
  never: ReadonlySet<number>,
  { firstTemperature, topK, topP, minP }: ResolvedSampling,
  uniform: number,
): { place: number; logprob: number } {
  const places: number[] = []
  for (let i = 0; i < ids.length && places.length < topK; i++) if (!never.has(ids[i]!)) places.push(i)
  if (places.length === 0) throw new ProtocolError('no token is allowed as the first token')
  const scaled = places.map(place => logprobs[place]! / firstTemperature)
  let weights = scaled.map(value => Math.exp(value - scaled[0]!))
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  const all = sum(weights)
  let kept = 0
  for (let mass = 0; kept < weights.length && mass < topP * all; kept++) mass += weights[kept]!
  weights = weights.slice(0, Math.max(1, kept)).filter(weight => weight >= minP)
  const total = sum(weights)
  let left = uniform * total
  let chosen = 0
  while (chosen < weights.length - 1 && left >= weights[chosen]!) left -= weights[chosen++]!
  return { place: places[chosen]!, logprob: Math.log(weights[chosen]! / total) }
}
