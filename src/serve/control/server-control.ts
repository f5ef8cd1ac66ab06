/**
 * Control of a server by a trainer: pause, resume, sleep, wake, new weights, adapters, names of weights. It behaves as vLLM does, but loses
 * nothing: a checkpoint that does not fit leaves the old weights, and a KV cache of other weights is never used.
 */
import type { PolicyVersion } from '../../model/index.js'
import type { Generator, ReplaceableWeights } from '../../rollout/index.js'
import { ApiError } from '../errors.js'
import type { InFlight } from '../in-flight.js'
import { type WeightSet, WeightTurns } from '../weight-turns.js'
import type { WeightsRoot } from './weights-root.js'

/** Requests in flight: `abort` ends them with their tokens so far, `wait` waits for them, `keep` makes them wait. */
export const pauseModes = ['abort', 'wait', 'keep'] as const
type PauseMode = (typeof pauseModes)[number]

interface ServerControlOptions {
  engine: Generator
  weights: ReplaceableWeights
  /** Undefined: no weights are read from disk. */
  root: WeightsRoot | undefined
  /** Most adapters that are loaded at the same time. */
  maxAdapters: number
  /** The model's name in requests. */
  name: string
  inFlight: InFlight
}

export class ServerControl {
  readonly versions: VersionNames
  readonly turns: WeightTurns
  private readonly base: WeightSet
  private readonly loaded = new Map<string, WeightSet>()
  private readonly loading = new Set<string>()
  /** Resolves when the engine computes nothing; undefined where it is not paused. */
  private frozen: Promise<void> | undefined
  /** Number of pauses and resumes: tells whether another one came during a wait. */
  private pauses = 0
  private paused = false
  private readonly away = { weights: false, cache: false }
  private underWay: string | undefined

  constructor(private readonly options: ServerControlOptions) {
    const { engine, weights, name } = options
    this.base = { name, adapter: undefined, source: undefined }
    this.versions = new VersionNames(engine.policyVersion)
    this.turns = new WeightTurns(this.base, ({ adapter }) =>
      weights.takesAdapters ? weights.useAdapter(adapter) : Promise.resolve(),
    )
    this.loaded.set(name, this.base)
  }

  /** Sets by their names in requests. */
  get sets(): ReadonlyMap<string, WeightSet> {
    return this.loaded
  }

  get isPaused(): boolean {
    return this.paused
  }

  get isSleeping(): boolean {
    return this.away.weights || this.away.cache
  }

  /** Resolves when the engine computes nothing until `resume`. New requests wait. */
  async pause(mode: PauseMode): Promise<void> {
    const turn = ++this.pauses
    // Requests of a sleeping server would not end.
    if (mode === 'wait' && !this.isSleeping) {
      this.turns.hold()
      this.thaw()
      await this.turns.empty()
      if (turn !== this.pauses)
        throw new ApiError(409, 'pause: another pause or a resume came before requests had ended.')
    }
    this.frozen ??= this.options.engine.pause()
    if (mode === 'abort') this.options.inFlight.abortAll()
    await this.frozen
    this.paused = this.frozen !== undefined
  }

  resume(): void {
    this.pauses++
    this.paused = false
    this.turns.release()
    // Requests of a sleeping server wait until it wakes.
    if (!this.isSleeping) this.thaw()
  }

  private thaw(): void {
    if (this.frozen) this.options.engine.resume()
    this.frozen = undefined
  }

  /** Level 0 is a pause. From level 1 on, the KV cache is freed and the weights leave the device. */
  sleep(level: number, mode: PauseMode): Promise<void> {
    return this.alone('sleep', async () => {
      const { engine, weights } = this.options
      await this.pause(mode)
      if (level === 0) return
      this.away.cache = true
      try {
        // A resume may have come in between.
        this.frozen ??= engine.pause()
        await this.frozen
        await engine.sleep()
      } catch (error) {
        this.away.cache = false
        throw error
      }
      await weights.offload()
      this.away.weights = true
    })
  }

  /** Restores the named parts, by default all. Requests go on when all parts are back. */
  wake(parts: readonly ('weights' | 'kv_cache')[] = ['weights', 'kv_cache']): Promise<void> {
    return this.alone('wake_up', async () => {
      const { engine, weights } = this.options
      if (parts.includes('weights')) {
        await weights.restore()
        this.away.weights = false
      }
      if (parts.includes('kv_cache')) {
        if (this.away.weights) throw new ApiError(409, 'wake_up: the weights have to come before the KV cache.')
        await engine.wake()
        this.away.cache = false
      }
      if (!this.isSleeping) this.resume()
    })
  }

  /** Requests in flight wait, and go on with the new weights. */
  reload(path: string): Promise<void> {
    return this.alone('reload_weights', async () => {
      if (this.away.weights)
        throw new ApiError(409, 'reload_weights: the weights are asleep; wake_up?tags=weights first.')
      await this.options.weights.reload(await this.directory(path))
    })
  }

  async nameVersion(name: string): Promise<void> {
    await this.options.engine.updateWeights({ version: this.versions.add(name) })
  }

  get takesAdapters(): boolean {
    return this.options.weights.takesAdapters
  }

  /** `same-name`: replaces an adapter of this name; running requests end with the old one. */
  async loadAdapter(name: string, path: string, { replaces }: { replaces: 'same-name' | 'nothing' }): Promise<void> {
    const { weights, maxAdapters } = this.options
    if (name === this.base.name) throw invalid(`The lora adapter '${name}' conflicts with a served base model.`)
    if (this.loading.has(name)) throw new ApiError(409, `The lora adapter '${name}' is being loaded.`)
    const old = this.loaded.get(name)
    if (old && replaces === 'nothing')
      throw invalid(
        `The lora adapter '${name}' has already been loaded. If you want to load the adapter in place, set 'load_inplace' to True.`,
      )
    if (!old && this.loaded.size - 1 + this.loading.size >= maxAdapters)
      throw invalid(`${maxAdapters} adapters are loaded at most (--max-loras); unload one.`)
    this.loading.add(name)
    try {
      const source = await this.directory(path)
      const set: WeightSet = { name, adapter: await weights.readAdapter(source), source: path }
      this.loaded.set(name, set)
      if (old) this.turns.retire(old)
    } finally {
      this.loading.delete(name)
    }
  }

  unloadAdapter(name: string): void {
    const set = this.loaded.get(name)
    if (!set?.adapter) throw new ApiError(404, `The lora adapter '${name}' cannot be found.`)
    this.loaded.delete(name)
    this.turns.retire(set)
  }

  /** Unloads all adapters and resumes the engine. Only while no request is in flight. */
  async close(): Promise<void> {
    for (const { name, adapter } of [...this.loaded.values()]) if (adapter) this.unloadAdapter(name)
    await this.turns.empty()
    this.thaw()
  }

  private directory(path: string): Promise<string> {
    const { root } = this.options
    if (!root) throw new ApiError(403, 'the server was started without --weights-root: it reads no weights from disk.')
    return root.resolve(path)
  }

  /** Changes of the weights or their memory: one at a time. */
  private async alone(what: string, work: () => Promise<void>): Promise<void> {
    if (this.underWay) throw new ApiError(409, `${what}: ${this.underWay} is under way.`)
    this.underWay = what
    try {
      await work()
    } finally {
      this.underWay = undefined
    }
  }
}

const invalid = (message: string): ApiError => new ApiError(400, message, { type: 'InvalidUserInput' })

/** The names that clients give to versions of the weights. */
class VersionNames {
  private readonly names = new Map<PolicyVersion, string>()

  constructor(private latest: PolicyVersion) {
    this.names.set(latest, 'default')
  }

  /** Name of the current weights. */
  get current(): string {
    return this.names.get(this.latest)!
  }

  /** The version that weights of this name have from now on. */
  add(name: string): PolicyVersion {
    if (name !== this.current) this.names.set(++this.latest, name)
    return this.latest
  }

  of(version: PolicyVersion): string {
    return this.names.get(version) ?? `${version}`
  }
}
