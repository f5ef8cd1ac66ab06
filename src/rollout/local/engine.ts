/** Generation in this process, with the weights of a model that may be training. */
import type { Adapter, LocalModel, PolicyVersion } from '../../model/index.js'
import type {
  GenerateOptions,
  GenerationRequest,
  Generator,
  GeneratorCapabilities,
  Outcome,
  WeightsUpdate,
} from '../generator.js'
import { OutcomeStream } from '../outcome-stream.js'
import { EngineCore, type EngineCounts } from './engine-core.js'
import type { LocalEngineOptions } from './engine-options.js'

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
      media: false,
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
    // As many wait as run: a place that becomes free is filled at once.
    const samples = 2 * core.maxSequences
    return new OutcomeStream({
      requests,
      signal,
      room: { samples, unread: samples },
      asleep: core.isAsleep,
      submit: (request, onOutcome) => core.submit(request, { onOutcome, ...(onToken && { onToken }) }, caller),
    })
  }

  abort(requestId: string): void {
    this.core.abort(requestId)
  }

  abortAll(): void {
    this.core.abortAll()
  }

  pause(): Promise<void> {
    return this.core.pause()
  }

  resume(): void {
    this.core.resume()
  }

  /**
   * Training in the same process changes the weights in place, so there is nothing to move: this names them. Where numbers
   * changed, what was computed with the old ones is computed again for requests in flight, so that every later token is the
   * new weights'. A change without this call is noticed, and counted from the last name by the model's own steps.
   */
  updateWeights({ version }: WeightsUpdate): Promise<void> {
    return this.core.updateWeights(version)
  }

  /**
   * Puts an adapter over the model's weights, or with undefined takes it off: from the next token on. Needs an engine made with
   * `adapters: 'exchangeable'`. The adapter stays the caller's, and is not disposed while it is in use.
   */
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
