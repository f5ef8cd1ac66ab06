/** Generation in this process, with the weights of a model that may be training. */
import type { Adapter, LocalModel, PolicyVersion } from '../../model/index.js'
import type {
  GenerateOptions,
  GenerationRequest,
  Generator,
  GeneratorCapabilities,
  Outcome,
  Rejection,
  WeightsUpdate,
} from '../generator.js'
import { OutcomeStream } from '../outcome-stream.js'
import { EngineCore, type EngineCounts } from './engine-core.js'
import type { LocalEngineOptions } from './engine-options.js'
import type { Listener } from './request-state.js'

export class LocalEngine implements Generator {
  private readonly core: EngineCore

  constructor(model: LocalModel<'language'>, options: LocalEngineOptions = {}) {
    this.core = new EngineCore(model, options)
  }

  get counts(): EngineCounts {
    return this.core.counts
  }

  get maxLength(): number {
    return this.core.limits.maxLength
  }

  get vocabSize(): number {
    return this.core.limits.vocabSize
  }

  get policyVersion(): PolicyVersion {
    return this.core.version
  }

  get capabilities(): GeneratorCapabilities {
    const { vocabSize, tokenizer } = this.core.limits
    return {
      logprobs: ['raw', 'processed'],
      topLogprobs: vocabSize,
      promptLogprobs: true,
      text: tokenizer !== undefined,
      tokens: true,
      media: this.core.limits.vision !== undefined,
      structured: [],
      sleep: true,
      weights: ['shared'],
    }
  }

  /** Whether `useAdapter` can be used. */
  get exchangesAdapters(): boolean {
    return this.core.exchangesAdapters
  }

  generate(
    requests: Iterable<GenerationRequest> | AsyncIterable<GenerationRequest>,
    { signal, onToken }: GenerateOptions = {},
  ): AsyncIterableIterator<Outcome, undefined> {
    const { core } = this
    const caller = {}
    // As many samples wait as run, so that a free place is filled at once.
    const samples = 2 * core.maxSequences
    return new OutcomeStream({
      requests,
      signal,
      room: { samples, unread: samples },
      asleep: core.isAsleep,
      submit: (request, onOutcome) => core.submit(request, { onOutcome, ...(onToken && { onToken }) }, caller),
    })
  }

  /** Most sequences that generate at a time. */
  get maxSequences(): number {
    return this.core.maxSequences
  }

  /** `generate` throws: no caller of `pause` will resume it. */
  get asleep(): boolean {
    return this.core.isAsleep
  }

  /** Takes one request, for callers that have a stream of their own; returns what aborts it. */
  submit(request: GenerationRequest, listener: Listener, caller: object = this): () => void {
    return this.core.submit(request, listener, caller)
  }

  /** Why a request cannot be answered, as `generate` would say it; undefined where it can. Throws for wrong sampling parameters. */
  check(request: GenerationRequest): readonly Rejection[] | undefined {
    return this.core.check(request)
  }

  abort(requestId: string): void {
    this.core.abort(requestId)
  }

  abortAll(): void {
    this.core.abortAll()
  }

  release(session: string): void {
    this.core.releaseSession(session)
  }

  pause(): Promise<void> {
    return this.core.pause()
  }

  resume(): void {
    this.core.resume()
  }

  /**
   * Sets the version of the weights. Training in the same process changes them in place, so nothing is copied. Where they changed, the KV
   * cache of requests in flight is computed again, so that every later token is from the new weights. A change without this call is noticed,
   * and the version counts on by the model's own steps.
   */
  updateWeights({ version }: WeightsUpdate): Promise<void> {
    return this.core.updateWeights(version)
  }

  /** Uses an adapter from the next token on; undefined: none. Needs `adapters: 'exchangeable'`. The caller disposes the adapter, after its use. */
  useAdapter(adapter: Adapter | undefined): Promise<void> {
    return this.core.useAdapter(adapter)
  }

  sleep(): Promise<void> {
    return this.core.sleep()
  }

  wake(): Promise<void> {
    return this.core.wake()
  }

  close(): Promise<void> {
    return this.core.close()
  }
}
