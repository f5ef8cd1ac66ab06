/** Samples of prompts in the order of the prompts, whatever order they finish in. */
import { InputError } from '../errors/index.js'
import type { GenerationRequest, Generator, Outcome, SampleLogprobs, SamplingParams } from '../rollout/index.js'
import type { MediaItem } from '../sequence/index.js'

/** A response, or why there is none. */
export type GeneratedSample = { readonly index: number; readonly sample: number } & (
  | {
      readonly promptIds: Int32Array
      readonly ids: Int32Array
      readonly text: string | undefined
      readonly logprobs: Float32Array
      readonly finishReason: 'stop' | 'length' | 'abort'
      readonly error?: undefined
    }
  | {
      readonly error: { readonly kind: 'rejected' | 'failed'; readonly reason: string; readonly message: string }
      readonly promptIds?: undefined
      readonly ids?: undefined
      readonly text?: undefined
      readonly logprobs?: undefined
      readonly finishReason?: undefined
    }
)

export interface PromptRequest {
  readonly ids: Int32Array
  /** Reads its images and videos, when the engine asks for the prompt. */
  media?(): Promise<readonly MediaItem[]>
}

interface SamplesOptions {
  readonly prompts: readonly PromptRequest[]
  /** Samples of each. */
  readonly n: number
  readonly sampling: SamplingParams
  readonly logprobs: keyof SampleLogprobs
  readonly signal: AbortSignal
}

export async function* samplesInOrder(
  generator: Generator,
  { prompts, n, sampling, logprobs, signal }: SamplesOptions,
): AsyncGenerator<GeneratedSample, void> {
  const { logprobs: known } = generator.capabilities
  if (!known.includes(logprobs))
    throw new InputError(`this engine has no ${logprobs} log-probabilities, only ${known.join(' and ') || 'none'}`)
  function* requests(): Iterable<GenerationRequest> & Iterator<GenerationRequest> {
    for (const [index, { ids: promptIds }] of prompts.entries()) yield { id: `${index}`, promptIds, n, sampling }
  }
  async function* withMedia(): AsyncGenerator<GenerationRequest> {
    for (const [index, request] of [...requests()].entries()) {
      const media = await prompts[index]!.media?.()
      yield media ? { ...request, media } : request
    }
  }
  const source = prompts.some(({ media }) => media) ? withMedia() : requests()
  const waiting = new Map<number, Outcome>()
  let next = 0
  for await (const outcome of generator.generate(source, { signal })) {
    signal.throwIfAborted()
    waiting.set(Number(outcome.requestId) * n + outcome.sample, outcome)
    for (let ready = waiting.get(next); ready !== undefined; ready = waiting.get(next)) {
      waiting.delete(next++)
      yield sampleOf(ready, logprobs)
    }
  }
  signal.throwIfAborted()
}

function sampleOf(outcome: Outcome, meaning: keyof SampleLogprobs): GeneratedSample {
  const place = { index: Number(outcome.requestId), sample: outcome.sample }
  if (outcome.kind !== 'completed') {
    const { kind, reason, message } = outcome
    return { ...place, error: { kind, reason, message } }
  }
  const { promptIds, responseIds: ids, text, finishReason } = outcome
  return { ...place, promptIds, ids, text, logprobs: outcome.logprobs[meaning] ?? new Float32Array(0), finishReason }
}
