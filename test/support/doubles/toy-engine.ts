/**
 * A server's insides: sequences that generate one token each in a step, a prefix cache, pauses, new weights. The servers of the
 * tests differ in the words they put around it.
 */

import {
  adapted,
  mix,
  type ServedState,
  type ServedWeights,
  servedLogits,
  servedState,
  toyEosId,
  toyText,
  toyWeights,
  uniform,
} from './toy-model.js'
import { choose, distributions, ranked, type ToySampling } from './toy-sampling.js'
import { ToyTransformer } from './toy-transformer.js'

export interface ToyRequest extends ToySampling {
  readonly id: string
  readonly promptIds: readonly number[]
  readonly maxNewTokens: number
  readonly minNewTokens: number
  readonly stopIds: readonly number[]
  readonly stop: readonly string[]
  readonly ignoreEos: boolean
  readonly adapter: string | undefined
  /** Log-probabilities of the prompt's tokens, with this many alternatives. */
  readonly promptTop: number | undefined
  readonly top: number
  onToken?: (sequence: ToySequence) => void
}

/** A token's log-probability and rank in one distribution, and the likeliest tokens of it. */
export interface ToyToken {
  readonly id: number
  readonly logprob: number
  readonly rank: number
  readonly top: readonly { id: number; logprob: number }[]
}

export type ToyFinish = { reason: 'stop' | 'length' | 'abort'; matched: string | number | undefined }

export class ToySequence {
  readonly tokens: ToyToken[] = []
  readonly prompt: ToyToken[] = []
  readonly versions: { version: string; start: number; end: number }[] = []
  /** After each token whose keys and values were computed. */
  states: ServedState[] = []
  cached = 0
  retractions = 0
  finish: ToyFinish | undefined
  readonly finished: Promise<ToyFinish>
  private settle: (finish: ToyFinish) => void = () => {}

  constructor(readonly request: ToyRequest) {
    this.finished = new Promise(resolve => {
      this.settle = resolve
    })
  }

  get ids(): number[] {
    return this.tokens.map(({ id }) => id)
  }

  /** Up to a stop string. */
  get text(): string {
    const { finish } = this
    const cut = finish?.reason === 'stop' && typeof finish.matched === 'number' ? this.ids.slice(0, -1) : this.ids
    const text = toyText(cut.filter(id => id !== toyEosId))
    return typeof finish?.matched === 'string' ? text.slice(0, text.indexOf(finish.matched)) : text
  }

  end(finish: ToyFinish): void {
    this.finish ??= finish
    this.settle(this.finish)
  }
}

export interface ToyEngineOptions {
  /** Prompt and response together; and what a prompt may have. */
  readonly maxLength: number
  readonly logprobs: 'raw' | 'scaled' | 'processed'
  /** `position`: a token's random number belongs to its place in the sequence, as SGLang's do; `step`: to its place in the request. */
  readonly randomBy: 'position' | 'step'
  /** The first weights' version. */
  readonly version?: number
}

export class ToyEngine {
  /** Of a step; 0: as fast as can be. */
  msPerToken = 0
  /** Sequences wait when they have this many tokens. */
  holdAt = Number.POSITIVE_INFINITY
  /** How far its log-probabilities of prompts are off: always the same way, as with other weights, */
  drift = 0
  /** and by the shape of what is computed, as with few bits. */
  rounding = 0
  /** What it says of its numbers. */
  dtype = 'float32'
  weights: ServedWeights
  /** What the server calls its weights. */
  marker = 'default'
  readonly adapters = new Map<string, { version: number; path: string }>()
  /** `lost`: an update failed in the middle; whoever generates with it dies. */
  state: 'sound' | 'lost' | 'dead' = 'sound'
  paused = false
  asleep = false
  /** All tokens ever sampled. */
  generated = 0
  onDeath: () => void = () => {}
  private readonly queue = new Set<ToySequence>()
  private readonly cache = new Map<number, ServedState>()
  private readonly merged = new WeakMap<ToyTransformer, { adapter: string; weights: ToyTransformer }>()
  private stepping = false
  private drawn = 0

  constructor(readonly options: ToyEngineOptions) {
    this.weights = toyWeights(options.version ?? 0)
  }

  get running(): number {
    return this.queue.size
  }

  submit(request: ToyRequest): ToySequence {
    const sequence = new ToySequence(request)
    this.queue.add(sequence)
    void sequence.finished.then(() => this.queue.delete(sequence))
    this.wake()
    return sequence
  }

  /** Those whose id matches end with what they have. */
  abort(matches: (id: string) => boolean): void {
    for (const sequence of this.queue)
      if (matches(sequence.request.id)) sequence.end({ reason: 'abort', matched: undefined })
  }

  /** `keep`: keys and values stay; `recompute`: they are computed again with whatever weights there are then. */
  pause(running: 'abort' | 'keep' | 'recompute'): void {
    this.paused = true
    if (running === 'abort') this.abort(() => true)
    if (running !== 'recompute') return
    this.flush()
    for (const sequence of this.queue) {
      if (sequence.states.length > 0) sequence.retractions++
      sequence.states = []
    }
  }

  resume(): void {
    this.paused = false
    this.wake()
  }

  /** Whether a request under way holds keys and values: they are not computed again. */
  get keepsStates(): boolean {
    return [...this.queue].some(({ states }) => states.length > 0)
  }

  setAsleep(asleep: boolean): void {
    this.asleep = asleep
    if (!asleep) this.wake()
  }

  flush(): void {
    this.cache.clear()
  }

  private wake(): void {
    if (this.stepping || this.paused || this.asleep || this.queue.size === 0) return
    this.stepping = true
    const step = (): void => {
      this.stepping = false
      if (this.paused || this.asleep) return
      if (this.state !== 'sound' && this.queue.size > 0) {
        this.state = 'dead'
        this.onDeath()
        return
      }
      for (const sequence of [...this.queue])
        if (sequence.finish === undefined && sequence.tokens.length < this.holdAt) this.advance(sequence)
      this.wake()
    }
    if (this.msPerToken === 0) setImmediate(step)
    else setTimeout(step, this.msPerToken)
  }

  /** One more token, or the end. */
  private advance(sequence: ToySequence): void {
    const { request, tokens, versions } = sequence
    const weights = this.weightsFor(request)
    this.compute(sequence, weights)
    const room = Math.min(request.maxNewTokens, this.options.maxLength - request.promptIds.length)
    if (tokens.length < room) {
      const position = this.options.randomBy === 'position' ? request.promptIds.length + tokens.length : tokens.length
      const random = request.seed === undefined ? mix(0xbeef, this.drawn++) : mix(request.seed, position)
      const { drawn, reported } = distributions(servedLogits(sequence.states.at(-1)!, weights), {
        ...request,
        mode: this.options.logprobs,
        forbidden: tokens.length < request.minNewTokens ? [toyEosId, ...request.stopIds] : [],
      })
      const id = choose(drawn, request.temperature, random)
      tokens.push(ranked(id, reported, request.top))
      this.generated++
      const last = versions.at(-1)
      if (last?.version === this.marker) last.end = tokens.length
      else versions.push({ version: this.marker, start: tokens.length - 1, end: tokens.length })
      const finish = ended(sequence)
      if (finish) sequence.end(finish)
    }
    if (tokens.length >= room) sequence.end({ reason: 'length', matched: undefined })
    request.onToken?.(sequence)
  }

  private weightsFor({ adapter }: ToyRequest): ServedWeights {
    const { weights } = this
    const found = adapter === undefined ? undefined : this.adapters.get(adapter)
    if (!found) return weights
    if (!(weights instanceof ToyTransformer)) return adapted(weights, found.version)
    const before = this.merged.get(weights)
    if (before?.adapter === found.path) return before.weights
    const merged = weights.with(found.path)
    this.merged.set(weights, { adapter: found.path, weights: merged })
    return merged
  }

  /** States of all tokens but those that are there; what the cache has is taken as it is. */
  private compute(sequence: ToySequence, weights: ServedWeights): void {
    const { request, states } = sequence
    const ids = [...request.promptIds, ...sequence.ids]
    const wantsPrompt = request.promptTop !== undefined && sequence.prompt.length === 0
    // A cache per adapter; prompts that are scored are computed anew.
    let key =
      request.adapter === undefined
        ? 1
        : mix(
            7,
            [...request.adapter].reduce((sum, c) => mix(sum, c.charCodeAt(0)), 0),
          )
    let hit = !wantsPrompt && states.length === 0
    for (let i = 0; i < ids.length; i++) {
      key = mix(key, ids[i]!)
      if (i < states.length) continue
      // The last token is always computed: its logits are wanted.
      const found: ServedState | undefined = hit && i + 1 < ids.length ? this.cache.get(key) : undefined
      if (found === undefined) hit = false
      else if (i < request.promptIds.length) sequence.cached = i + 1
      const state = found ?? servedState(states.at(-1), ids[i]!, weights)
      states.push(state)
      this.cache.set(key, state)
    }
    if (!wantsPrompt) return
    for (let i = 1; i < request.promptIds.length; i++) {
      const plain = { temperature: 1, topK: -1, topP: 1, minP: 0, seed: undefined, bias: undefined, allowed: undefined }
      const { reported } = distributions(servedLogits(states[i - 1]!, weights), {
        ...plain,
        mode: 'raw',
        forbidden: [],
      })
      const token = ranked(request.promptIds[i]!, reported, request.promptTop!)
      const state = states[i - 1]!
      const place = typeof state === 'number' ? state : mix(i, request.promptIds[i]!)
      const off = this.drift * signed(place) + this.rounding * signed(mix(place, ids.length))
      sequence.prompt.push({ ...token, logprob: Math.fround(token.logprob + off) })
    }
  }
}

/** Between -1 and 1. */
const signed = (hash: number): number => 2 * uniform(mix(hash, 0x0ff)) - 1

function ended({ request, tokens }: ToySequence): ToyFinish | undefined {
  const { id } = tokens.at(-1)!
  if (tokens.length < request.minNewTokens) return undefined
  if (id === toyEosId && !request.ignoreEos) return { reason: 'stop', matched: undefined }
  if (request.stopIds.includes(id)) return { reason: 'stop', matched: id }
  const text = request.stop.length === 0 ? '' : toyText(tokens.map(token => token.id))
  const found = request.stop.find(stop => text.includes(stop))
  return found === undefined ? undefined : { reason: 'stop', matched: found }
}
