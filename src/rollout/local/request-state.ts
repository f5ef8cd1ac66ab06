/** A request in the engine, and each of its samples. */
import { hash } from 'node:crypto'
import type { PolicyVersion } from '../../model/index.js'
import type { GenerationRequest, Outcome, Sample, TokenEvent, TopLogprobs, VersionSpan } from '../generator.js'
import type { ResolvedSampling } from '../sampling.js'
import type { TextStream } from '../text-stream.js'
import type { SamplingRow } from './build-batch.js'
import { CachedSequence, Prefix } from './cached-sequence.js'
import type { Limits } from './input-processor.js'
import type { PromptMedia } from './step-media.js'

export interface Listener {
  /** Called for every token, with its text where the request asked for text. */
  onToken?: (event: TokenEvent) => void
  onOutcome: (outcome: Outcome) => void
}

export class RequestState {
  /** Shared by the samples; undefined where one sample computes its own. */
  readonly prefix: PromptPrefix | undefined
  readonly scores: { logprobs: Float32Array; top: TopLogprobs[] } | undefined
  readonly samples: SequenceState[] = []
  readonly arrived = performance.now()
  /** Ids that are never sampled, ascending; and those before `minNewTokens`, with the ids that end a response. */
  readonly forbidden: Int32Array
  readonly forbiddenAtFirst: Int32Array
  readonly eosIds: readonly number[]
  private readonly stops: ReadonlySet<number>

  constructor(
    readonly request: GenerationRequest,
    readonly promptIds: Int32Array,
    readonly sampling: ResolvedSampling,
    { eosIds, vision }: Pick<Limits, 'eosIds' | 'vision'>,
    readonly listener: Listener,
    readonly media?: PromptMedia | undefined,
  ) {
    this.eosIds = eosIds
    const own = sampling.ignoreEos ? [] : eosIds
    this.stops = new Set([...own, ...sampling.stopIds])
    // A placeholder without an image could not be read again.
    const never = vision ? [...sampling.forbiddenIds, ...Object.values(vision.tokens)] : sampling.forbiddenIds
    this.forbidden = ascending(never)
    this.forbiddenAtFirst = sampling.minNewTokens > 0 ? ascending([...never, ...this.stops]) : this.forbidden
    const scored = sampling.promptLogprobs !== undefined
    if (scored) this.scores = { logprobs: new Float32Array(promptIds.length - 1), top: [] }
    if (promptIds.length > 1 && ((request.n ?? 1) > 1 || scored)) this.prefix = new PromptPrefix(this)
  }

  get promptId(): string {
    return this.request.promptId ?? this.request.id
  }

  /** Rows before this one are scored for the prompt's log-probabilities. */
  get scoredTo(): number {
    return this.scores ? this.promptIds.length - 1 : 0
  }

  isStop(id: number): boolean {
    return this.stops.has(id)
  }

  /** Undefined for the first end-of-sequence token; any other stop id is reported. */
  stopReason(id: number): number | undefined {
    return id === this.eosIds[0] && !this.sampling.stopIds.includes(id) ? undefined : id
  }

  /** Asks the row at `position` to score the next token of the prompt. */
  promptSamplingRow(position: number): SamplingRow {
    const targetId = this.promptIds[position + 1]!
    const top = this.sampling.promptLogprobs!
    // Field by field: there is one for each token, and a spread takes ten times as long.
    return {
      position,
      counter: 0,
      temperature: 1,
      topK: -1,
      topP: 1,
      minP: 0,
      key: noKey,
      targetId,
      forbidden: none,
      top,
    }
  }
}

const noKey = [0, 0] as const
const none = new Int32Array(0)

/** Copies only where needed: most lists are sorted already. */
function ascending(ids: readonly number[]): Int32Array {
  const array = Int32Array.from(ids)
  return array.every((id, i) => i === 0 || array[i - 1]! < id) ? array : Int32Array.from(new Set(array.sort()))
}

export class PromptPrefix extends Prefix {
  constructor(readonly requestState: RequestState) {
    super(requestState.promptIds.length - 1, requestState.scoredTo)
  }
}

/** A growing list of at most `most` numbers. A full one needs no copy at the end, when a device may be waiting. */
class Growing<A extends Int32Array | Float32Array> {
  length = 0
  private values: A

  constructor(
    private readonly Values: new (length: number) => A,
    private readonly most: number,
  ) {
    this.values = new Values(Math.min(16, most))
  }

  push(value: number): void {
    if (this.length === this.values.length) {
      const { values } = this
      this.values = new this.Values(Math.min(2 * this.length, this.most))
      this.values.set(values)
    }
    this.values[this.length++] = value
  }

  at(index: number): number {
    return this.values[index]!
  }

  /** All numbers; nothing may be pushed afterwards. */
  whole(): A {
    return (this.length === this.values.length ? this.values : this.values.slice(0, this.length)) as A
  }
}

export class SequenceState extends CachedSequence {
  readonly response: Growing<Int32Array>
  private readonly raw: Growing<Float32Array>
  private readonly processed: Growing<Float32Array>
  private readonly top: TopLogprobs[] = []
  private readonly versions: VersionSpan[] = []
  private readonly key: readonly [number, number]
  text: TextStream | undefined
  started: number | undefined
  private firstToken: number | undefined

  constructor(
    readonly requestState: RequestState,
    readonly index: number,
    readonly maxNewTokens: number,
  ) {
    super(requestState.promptIds.length, requestState.prefix, requestState.scoredTo)
    this.response = new Growing(Int32Array, maxNewTokens)
    this.raw = new Growing(Float32Array, maxNewTokens)
    this.processed = new Growing(Float32Array, maxNewTokens)
    this.key = randomKey(requestState.sampling.seed, requestState.promptId, index)
  }

  /** Writes the tokens `start..start + count` at `at`. */
  copyTokens(start: number, count: number, into: Int32Array, at: number): void {
    const { promptIds } = this.requestState
    const known = promptIds.subarray(start, start + count)
    into.set(known, at)
    for (let i = known.length; i < count; i++) into[at + i] = this.response.at(start + i - promptIds.length)
  }

  samplingRow(): SamplingRow {
    const { sampling, forbidden, forbiddenAtFirst } = this.requestState
    const { topK, topP, minP, temperature, firstTemperature, topLogprobs = -1 } = sampling
    return {
      position: this.length - 1,
      // The token's position, prompt included: a response that was cut off goes on with the same numbers.
      counter: this.length - 1,
      temperature: this.response.length === 0 ? firstTemperature : temperature,
      topK,
      topP,
      minP,
      key: this.key,
      targetId: -1,
      forbidden: this.response.length < sampling.minNewTokens ? forbiddenAtFirst : forbidden,
      top: topLogprobs,
    }
  }

  append(id: number, raw: number, processed: number, top: TopLogprobs | undefined, version: PolicyVersion): void {
    const at = this.response.length
    this.firstToken ??= performance.now()
    this.response.push(id)
    this.length++
    this.raw.push(raw)
    this.processed.push(processed)
    if (top) this.top.push(top)
    const last = this.versions.at(-1)
    if (last?.version === version) last.end = at + 1
    else this.versions.push({ version, start: at, end: at + 1 })
  }

  get identity(): { requestId: string; promptId: string; sample: number; seed: number } {
    const { request, promptId, sampling } = this.requestState
    return { requestId: request.id, promptId, sample: this.index, seed: sampling.seed }
  }

  toSample(
    finishReason: Sample['finishReason'],
    stopReason: string | number | undefined,
    text: string | undefined,
    version: PolicyVersion,
  ): Sample {
    const { requestState } = this
    return {
      kind: 'completed',
      ...this.identity,
      promptIds: requestState.promptIds,
      responseIds: this.response.whole(),
      finishReason,
      stopReason,
      logprobs: { raw: this.raw.whole(), processed: this.processed.whole() },
      topLogprobs: requestState.sampling.topLogprobs === undefined ? undefined : this.top,
      promptLogprobs: requestState.scores,
      text,
      policyVersion: this.versions[0]?.version ?? version,
      versions: this.versions,
      timings: {
        startedMs: (this.started ?? performance.now()) - requestState.arrived,
        firstTokenMs: this.firstToken === undefined ? undefined : this.firstToken - requestState.arrived,
        finishedMs: performance.now() - requestState.arrived,
        preemptions: this.preemptions,
      },
    }
  }
}

/**
 * The key of a sample's random numbers: a hash of seed, prompt id and sample index. The number for a token is Philox of the key and the
 * token's position, prompt included. It depends on nothing else: a response that was cut off goes on with the same numbers.
 */
function randomKey(seed: number, promptId: string, sample: number): [number, number] {
  // A binary string takes half the time of a buffer from `hash`; this runs for every sample.
  const digest = Buffer.from(hash('sha256', `${seed}\0${sample}\0${promptId}`, 'binary'), 'binary')
  return [digest.readInt32LE(0), digest.readInt32LE(4)]
}
