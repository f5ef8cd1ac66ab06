/** A `Generator` that says what a script tells it, a token of every sample at a time: for tests of whatever uses one. */
import { setImmediate as tick } from 'node:timers/promises'
import type {
  GenerateOptions,
  GenerationRequest,
  Generator,
  Outcome,
  WeightsUpdate,
} from '../../../src/rollout/index.js'
import { OutcomeStream, resolveSampling, type Sample, type VersionSpan } from '../../../src/rollout/index.js'

/** What is said to a prompt; it may go on for ever. */
export type Script = (promptIds: Int32Array, sample: number) => Iterable<number>

export class ScriptedGenerator implements Generator {
  policyVersion = 0
  readonly maxLength = 256
  readonly counts = { running: 0, waiting: 0, promptTokens: 0, generatedTokens: 0 }
  private readonly stops = new Map<string, AbortController>()
  private pauses = 0
  private state: 'awake' | 'asleep' | 'closed' = 'awake'

  constructor(
    private readonly script: Script,
    readonly vocabSize = 320,
    private readonly textOf?: (id: number) => string,
  ) {}

  get capabilities() {
    const [logprobs, weights, text] = [['raw'] as const, ['directory'] as const, this.textOf !== undefined]
    return {
      logprobs,
      topLogprobs: 0,
      promptLogprobs: false,
      text,
      tokens: true,
      media: false,
      structured: [],
      sleep: true,
      weights,
    }
  }

  generate(requests: Iterable<GenerationRequest> | AsyncIterable<GenerationRequest>, options: GenerateOptions = {}) {
    const { signal, onToken } = options
    const asleep = this.state === 'asleep' && this.pauses === 0
    const submit = (request: GenerationRequest, onOutcome: (outcome: Outcome) => void): (() => void) => {
      const { id, n = 1, firstSample = 0 } = request
      if (this.state === 'closed') throw new Error('the generator is closed')
      if (this.stops.has(id)) throw new RangeError(`a request with the id ${id} is already in flight`)
      resolveSampling(request.sampling, { vocabSize: this.vocabSize, n })
      const stop = new AbortController()
      this.stops.set(id, stop)
      this.counts.running += n
      let left = n
      for (let sample = firstSample; sample < firstSample + n; sample++)
        void this.say(request, sample, stop.signal, onToken).then(outcome => {
          this.counts.running--
          if (--left === 0) this.stops.delete(id)
          onOutcome(outcome)
        })
      return () => stop.abort()
    }
    return new OutcomeStream({ requests, signal, room: { samples: 8, unread: 8 }, asleep, submit })
  }

  private async say(
    { id: requestId, promptId = requestId, promptIds, media, sampling }: GenerationRequest,
    sample: number,
    stop: AbortSignal,
    onToken: GenerateOptions['onToken'],
  ): Promise<Outcome> {
    const identity = { requestId, promptId, sample, seed: sampling.seed }
    const reason = promptIds.length === 0 ? 'empty-prompt' : media?.length ? 'media-unsupported' : undefined
    if (reason) return { kind: 'rejected', ...identity, reason, message: `refused: ${reason}` }
    const [ids, versions]: [number[], VersionSpan[]] = [[], []]
    const max = Math.min([sampling.maxNewTokens].flat()[0]!, this.maxLength - promptIds.length)
    let finishReason: Sample['finishReason'] = 'stop'
    for (const id of this.script(promptIds, sample)) {
      do await tick()
      while ((this.pauses > 0 || this.state === 'asleep') && !stop.aborted)
      if (stop.aborted || ids.length === max) {
        finishReason = stop.aborted ? 'abort' : 'length'
        break
      }
      const last = versions.at(-1)
      if (last?.version === this.policyVersion) last.end = ids.push(id)
      else versions.push({ version: this.policyVersion, start: ids.length, end: ids.push(id) })
      this.counts.generatedTokens++
      const text = this.textOf?.(id) ?? ''
      onToken?.({ requestId, sample, id, raw: -1, processed: undefined, top: undefined, text })
    }
    const [responseIds, logprobs] = [Int32Array.from(ids), { raw: new Float32Array(ids.length).fill(-1) }]
    const text = this.textOf && ids.map(this.textOf).join('')
    const policyVersion = versions[0]?.version ?? this.policyVersion
    const none = { stopReason: undefined, topLogprobs: undefined, promptLogprobs: undefined }
    const timings = { startedMs: 0, firstTokenMs: 0, finishedMs: 0, preemptions: 0 }
    const made = { ...identity, promptIds, responseIds, finishReason, logprobs, text, policyVersion, versions, timings }
    return { kind: 'completed', ...none, ...made }
  }

  readonly abort = (requestId: string): void => this.stops.get(requestId)?.abort()
  readonly abortAll = (): void => [...this.stops.keys()].forEach(this.abort)
  readonly pause = async (): Promise<void> => void this.pauses++
  readonly resume = (): void => void this.pauses--
  readonly updateWeights = async ({ version }: WeightsUpdate): Promise<void> => {
    this.policyVersion = version
  }
  readonly sleep = async (): Promise<void> => void Object.assign(this, { state: 'asleep' })
  readonly wake = async (): Promise<void> => void Object.assign(this, { state: 'awake' })
  readonly close = async (): Promise<void> => {
    this.abortAll()
    this.state = 'closed'
    while (this.counts.running > 0) await tick()
  }
}
