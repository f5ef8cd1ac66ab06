/**
 * Generation on all ranks: each has an engine over its copy of the model, and a request goes to the rank with the fewest samples in
 * flight. A sample depends on the weights, the prompt, its parameters and its random stream alone, so that it does not matter which rank
 * makes it. Training changes the copies where they are: new weights need no copy.
 */
import type { PolicyVersion } from '../model/index.js'
import {
  type EngineCounts,
  type GenerateOptions,
  type GenerationRequest,
  type Generator,
  type GeneratorCapabilities,
  type GeneratorCounts,
  LocalEngine,
  type LocalEngineOptions,
  type Outcome,
  OutcomeStream,
  type TokenEvent,
  type WeightsUpdate,
} from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'
import type { DistributedModel } from './distributed-model.js'
import { packValue, unpackValue } from './packed-value.js'
import type { Peer } from './peer.js'
import type { EngineCommand, EngineOpening, GenerateCommand, Generated } from './rank-engines.js'
import type { World } from './world.js'

interface DistributedGeneratorOptions extends EnginesOptions {
  /** For stop strings and text. The other ranks load it from `directory`, which every machine has under the same path. */
  readonly tokenizer?: { readonly own: Tokenizer; readonly directory: string }
}
type EnginesOptions = EngineOpening['options']

interface Listener {
  onOutcome(outcome: Outcome): void
  onToken?(event: TokenEvent): void
}

/** One rank's engine. */
interface RankEngine {
  /** Samples in flight. */
  load: number
  readonly counts: GeneratorCounts
  /** Takes a request that was checked; returns what aborts it. */
  submit(request: GenerationRequest, listener: Listener, caller: object): () => void
}

export class DistributedGenerator implements Generator {
  /** In the order of the ranks; the first is of rank 0. */
  private readonly ranks: readonly RankEngine[]
  private readonly remote: readonly RemoteEngine[]
  /** Requests in flight, and what aborts them. */
  private readonly requests = new Map<string, () => void>()
  /** The rank that has the KV cache of a conversation. */
  private readonly sessions = new Map<string, RankEngine>()
  private closed = false

  private constructor(
    private readonly world: World,
    private readonly local: LocalEngine,
    others: readonly { peer: Peer; engine: string }[],
    /** Samples that all ranks have place for. */
    private readonly places: number,
  ) {
    this.remote = others.map(({ peer, engine }) => new RemoteEngine(world, peer, engine))
    const own: RankEngine = {
      load: 0,
      get counts() {
        return local.counts
      },
      submit: (request, listener, caller) => local.submit(request, listener, caller),
    }
    this.ranks = [own, ...this.remote]
  }

  /** An engine on every rank. The options are those of each. */
  static async open(
    model: DistributedModel<'language'>,
    { tokenizer, ...options }: DistributedGeneratorOptions = {},
  ): Promise<DistributedGenerator> {
    const { world } = model
    const engine = world.newName('engine')
    const given: LocalEngineOptions = { ...options, ...(tokenizer && { tokenizer: tokenizer.own }) }
    const local = new LocalEngine(model.local, given)
    const opening: EngineOpening = { engine, model: model.name, tokenizer: tokenizer?.directory, options }
    try {
      const answers = await world.explained(() => world.askOthers('engine.open', opening))
      const places = answers.reduce<number>((sum, one) => sum + (one as number), local.maxSequences)
      const others = world.peers.map(peer => ({ peer, engine }))
      return new DistributedGenerator(world, local, others, places)
    } catch (error) {
      await local.close()
      throw error
    }
  }

  get capabilities(): GeneratorCapabilities {
    return this.local.capabilities
  }
  get maxLength(): number {
    return this.local.maxLength
  }
  get vocabSize(): number {
    return this.local.vocabSize
  }
  get policyVersion(): PolicyVersion {
    return this.local.policyVersion
  }

  /** Of all ranks together. */
  get counts(): GeneratorCounts {
    const sum: Record<string, number> = {}
    for (const { counts } of this.ranks)
      for (const [name, value] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + (value as number)
    return sum as unknown as GeneratorCounts
  }

  /** Samples in flight on each rank. */
  get loads(): readonly number[] {
    return this.ranks.map(({ load }) => load)
  }

  generate(
    requests: Iterable<GenerationRequest> | AsyncIterable<GenerationRequest>,
    { signal, onToken }: GenerateOptions = {},
  ): AsyncIterableIterator<Outcome, undefined> {
    const caller = {}
    const samples = 2 * this.places
    const stream = new OutcomeStream({
      requests,
      signal,
      room: { samples, unread: samples },
      asleep: this.local.asleep,
      submit: (request, onOutcome) => this.submit(request, { onOutcome, ...(onToken && { onToken }) }, caller),
    })
    return unlessBroken(this.world, stream)
  }

  abort(requestId: string): void {
    this.requests.get(requestId)?.()
  }

  abortAll(): void {
    for (const abort of [...this.requests.values()]) abort()
  }

  release(session: string): void {
    const rank = this.sessions.get(session)
    this.sessions.delete(session)
    if (rank instanceof RemoteEngine) rank.tell({ do: 'release', session })
    else this.local.release(session)
  }

  async pause(): Promise<void> {
    await this.everywhere({ do: 'pause' }, () => this.local.pause())
  }

  resume(): void {
    this.local.resume()
    for (const rank of this.remote) rank.tell({ do: 'resume' })
  }

  async updateWeights({ version }: WeightsUpdate): Promise<void> {
    await this.everywhere({ do: 'updateWeights', version }, () => this.local.updateWeights({ version }))
  }

  async sleep(): Promise<void> {
    await this.everywhere({ do: 'sleep' }, () => this.local.sleep())
  }

  async wake(): Promise<void> {
    await this.everywhere({ do: 'wake' }, () => this.local.wake())
  }

  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    await this.local.close()
    if (this.world.failure) return
    await Promise.allSettled(this.remote.map(rank => rank.ask({ do: 'close' })))
    await Promise.all(this.remote.map(rank => rank.idle()))
  }

  private submit(request: GenerationRequest, listener: Listener, caller: object): () => void {
    this.world.refuseBroken()
    if (this.closed) throw new Error('the engine is closed')
    if (this.requests.has(request.id))
      throw new RangeError(`a request with the id ${JSON.stringify(request.id)} is already in flight`)
    const rejected = this.local.check(request)
    if (rejected) {
      // Later: a listener is never called before this returns.
      for (const one of rejected) queueMicrotask(() => listener.onOutcome(one))
      return () => {}
    }
    const rank = this.rankFor(request)
    let left = request.n ?? 1
    rank.load += left
    const abort = rank.submit(
      request,
      {
        ...listener,
        onOutcome: outcome => {
          rank.load--
          if (--left === 0) this.requests.delete(request.id)
          listener.onOutcome(outcome)
        },
      },
      caller,
    )
    this.requests.set(request.id, abort)
    return abort
  }

  private rankFor({ session }: GenerationRequest): RankEngine {
    const kept = session === undefined ? undefined : this.sessions.get(session)
    if (kept) return kept
    const rank = this.ranks.reduce((least, one) => (one.load < least.load ? one : least))
    if (session !== undefined) this.sessions.set(session, rank)
    return rank
  }

  /** On every rank, or the ranks are no longer alike. */
  private async everywhere(command: Command, own: () => Promise<void>): Promise<void> {
    if (this.closed) return own()
    await this.world.explained(() => Promise.all([own(), ...this.remote.map(rank => rank.ask(command))]))
  }
}

type WithoutEngine<T> = T extends unknown ? Omit<T, 'engine'> : never
type Command = WithoutEngine<EngineCommand>

/** The engine of another rank. */
class RemoteEngine implements RankEngine {
  load = 0
  private known: EngineCounts | undefined
  private readonly calls = new Set<Promise<void>>()

  constructor(
    private readonly world: World,
    private readonly peer: Peer,
    private readonly engine: string,
  ) {}

  /** As of its last answer; what is in flight is known here. */
  get counts(): GeneratorCounts {
    const { known, load } = this
    if (!known) return { running: load, waiting: 0, promptTokens: 0, generatedTokens: 0 }
    const running = Math.min(load, Math.max(known.running, load - known.waiting))
    return { ...known, running, waiting: load - running }
  }

  submit(request: GenerationRequest, listener: Listener): () => void {
    const stop = new AbortController()
    const call = this.generate(request, listener, stop.signal).finally(() => this.calls.delete(call))
    this.calls.add(call)
    return () => stop.abort()
  }

  async ask(command: Command): Promise<void> {
    this.known = unpackValue(await this.peer.ask('engine', { ...command, engine: this.engine }))
  }

  /** Without waiting for it. */
  tell(command: Command): void {
    this.ask(command).catch((error: Error) => this.world.suspect(error))
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    await Promise.all(this.calls)
  }

  private async generate(request: GenerationRequest, listener: Listener, signal: AbortSignal): Promise<void> {
    const command: GenerateCommand = { engine: this.engine, request, tokens: listener.onToken !== undefined }
    const { body, arrays } = packValue(command)
    const given = new Set<number>()
    try {
      const call = this.peer.call('engine.generate', body, { arrays, signal })
      for (let part = await call.next(); part; part = await call.next()) {
        const { counts, outcome, token } = unpackValue<Generated>(part)
        this.known = counts
        if (token) listener.onToken?.(token)
        if (outcome) given.add(outcome.sample)
        if (outcome) listener.onOutcome(outcome)
      }
      await call.done
    } catch (error) {
      const { message } = await this.world.explained<Error>(() => Promise.reject(error)).catch((why: Error) => why)
      const { id, promptId = id, n = 1, firstSample = 0, sampling } = request
      for (let sample = firstSample; sample < firstSample + n; sample++)
        if (!given.has(sample)) {
          const of = { requestId: id, promptId, sample, seed: sampling.seed ?? 0 }
          listener.onOutcome({ kind: 'failed', reason: 'engine', message, ...of })
        }
    }
  }
}

/** Where a rank is lost its samples did not fail: the job did. */
function unlessBroken(world: World, stream: OutcomeStream): AsyncIterableIterator<Outcome, undefined> {
  return {
    async next() {
      const read = await stream.next()
      if (read.done || !world.failure) return read
      await stream.return()
      throw world.failure
    },
    return: () => stream.return(),
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
