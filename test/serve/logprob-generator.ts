import type {
  GenerateOptions,
  GenerationRequest,
  Generator,
  Outcome,
  Sample,
  TopLogprobs,
  WeightsUpdate,
} from '../../src/rollout/index.js'

export interface Script {
  maxLength?: number
  vocabSize?: number
  /** Before each token of each sample. */
  beforeToken?: () => Promise<void>
  /** Instead of a sample. */
  outcome?: (request: GenerationRequest, sample: number) => Outcome | undefined
}

/** An engine that computes nothing: token t of a sample is `(sample + t) % vocabSize`, and every log-probability -1. */
export class LogprobGenerator implements Generator {
  readonly capabilities = {
    logprobs: ['raw' as const, 'processed' as const],
    topLogprobs: 100,
    promptLogprobs: true,
    text: true,
    tokens: true,
    media: false,
    structured: [],
    sleep: false,
    weights: [],
  }
  readonly counts = { running: 0, waiting: 0, promptTokens: 0, generatedTokens: 0 }
  readonly policyVersion = 0 as Generator['policyVersion']
  readonly maxLength: number
  readonly vocabSize: number
  private readonly aborted = new Set<string>()
  private readonly inFlight = new Set<string>()

  constructor(private readonly script: Script = {}) {
    this.maxLength = script.maxLength ?? 256
    this.vocabSize = script.vocabSize ?? 300
  }

  async *generate(
    requests: Iterable<GenerationRequest> | AsyncIterable<GenerationRequest>,
    { signal, onToken }: GenerateOptions = {},
  ): AsyncIterableIterator<Outcome, undefined> {
    for await (const request of requests) {
      const { id, n = 1, promptIds, sampling } = request
      this.inFlight.add(id)
      for (let sample = 0; sample < n; sample++) {
        const other = this.script.outcome?.(request, sample)
        if (other) {
          yield other
          continue
        }
        this.counts.running++
        const most = Math.min(sampling.maxNewTokens as number, this.maxLength - promptIds.length)
        const ids: number[] = []
        const cancelled = (): boolean => (signal?.aborted ?? false) || this.aborted.has(id)
        while (ids.length < most && !cancelled()) {
          await this.script.beforeToken?.()
          const token = (sample + ids.length) % this.vocabSize
          ids.push(token)
          this.counts.generatedTokens++
          const top = sampling.topLogprobs === undefined ? undefined : likeliest(sampling.topLogprobs)
          onToken?.({ requestId: id, sample, id: token, raw: -1, processed: -1, top, text: 'x' })
        }
        this.counts.running--
        yield this.sample(request, sample, ids, cancelled() ? 'abort' : 'length')
      }
      this.inFlight.delete(id)
    }
    return undefined
  }

  private sample(
    request: GenerationRequest,
    sample: number,
    ids: number[],
    finishReason: Sample['finishReason'],
  ): Sample {
    const { id, promptId = id, promptIds, sampling } = request
    const { topLogprobs: k, promptLogprobs: ofPrompt, seed } = sampling
    const rest = promptIds.subarray(1)
    return {
      kind: 'completed',
      requestId: id,
      promptId,
      sample,
      seed,
      promptIds,
      responseIds: Int32Array.from(ids),
      finishReason,
      stopReason: undefined,
      logprobs: { raw: new Float32Array(ids.length).fill(-1), processed: new Float32Array(ids.length).fill(-1) },
      topLogprobs: k === undefined ? undefined : ids.map(() => likeliest(k)),
      promptLogprobs:
        ofPrompt === undefined
          ? undefined
          : { logprobs: new Float32Array(rest.length).fill(-1), top: Array.from(rest, () => likeliest(ofPrompt)) },
      text: 'x'.repeat(ids.length),
      policyVersion: this.policyVersion,
      versions: [{ version: this.policyVersion, start: 0, end: ids.length }],
      timings: { startedMs: 0, firstTokenMs: 0, finishedMs: 0, preemptions: 0 },
    }
  }

  abort(requestId: string): void {
    this.aborted.add(requestId)
  }

  abortAll(): void {
    for (const id of this.inFlight) this.aborted.add(id)
  }

  async pause(): Promise<void> {}
  resume(): void {}
  async updateWeights(_: WeightsUpdate): Promise<void> {}
  async sleep(): Promise<void> {}
  async wake(): Promise<void> {}
  async close(): Promise<void> {}
}

const likeliest = (k: number): TopLogprobs => ({
  rank: 1,
  ids: Int32Array.from({ length: k }, (_, i) => i),
  logprobs: new Float32Array(k).fill(-1.2345678),
})
