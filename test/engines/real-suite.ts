/** A real server with models of our own, and what its tests share. */
import { expect } from 'vitest'
import type { EngineType, StartedEngine } from '../../src/launch/index.js'
import type { EngineEvent, Generator, RemoteOptions, Sample } from '../../src/rollout/index.js'
import { type AdapterModel, largestDifference, startMs, type TinyModel, World } from '../support/real-servers.js'

export interface RealEngine {
  readonly type: EngineType
  readonly connect: (options: RemoteOptions) => Promise<Generator>
  /** Requests that generate on the server, by its own account. */
  readonly running: (url: string) => Promise<number>
  /** The adapters it has. */
  readonly adapters: (url: string) => Promise<string[]>
  /** Prompt tokens that it found in its cache since it was started. */
  readonly cachedTokens: (url: string) => Promise<number>
  readonly flags?: readonly string[]
  /** Whether it can give the memory of weights back. */
  readonly sleeps: boolean
  /** Whether a seed makes its samples the same again. */
  readonly seeds: 'kept' | 'ignored'
  /** Whether it says the rank of a token that is not among the likeliest; else it counts as the first after them. */
  readonly ranks: 'all' | 'likeliest'
  /** Tests of this server alone, with the same models. */
  readonly further?: (suite: RealSuite) => void
}

export const tolerance = 1e-4

export class RealSuite {
  world!: World
  engine!: StartedEngine
  a!: TinyModel
  b!: TinyModel
  adapted: AdapterModel[] = []
  /** What the server has, and how often it was given something. */
  loaded!: TinyModel
  version = 0
  readonly events: EngineEvent[] = []
  readonly #made: Generator[] = []

  constructor(readonly real: RealEngine) {}

  async start(): Promise<void> {
    this.world = await World.make()
    this.a = await this.world.model('a', { seed: 1 })
    this.b = await this.world.model('b', { seed: 2 })
    this.adapted = [await this.world.adapter('c', this.a, 3), await this.world.adapter('d', this.a, 4)]
    await this.startServer()
    this.loaded = this.a
  }

  async startServer(options: { port?: number } = {}): Promise<void> {
    const { type, flags } = this.real
    this.engine = await this.world.start(type, this.a, { ...options, loraRank: 4, ...(flags ? { flags } : {}) })
  }

  /** After each test. */
  async closeGenerators(): Promise<void> {
    for (const generator of this.#made.splice(0)) await generator.close()
    this.events.length = 0
  }

  async connected(options: Partial<RemoteOptions> = {}): Promise<Generator> {
    const { tokenizer, vocabSize } = this.world
    const onEvent = (event: EngineEvent) => this.events.push(event)
    const own = { urls: [this.engine.url], vocabSize, tokenizer, version: this.version, patienceMs: startMs, onEvent }
    const generator = await this.real.connect({ ...own, ...options })
    this.#made.push(generator)
    return generator
  }

  /** Other weights for the server, with their proof. */
  async give(generator: Generator, model: TinyModel): Promise<void> {
    this.loaded = model
    this.version = Math.max(this.version, generator.policyVersion) + 1
    await generator.updateWeights({ version: this.version, directory: model.directory, proof: await model.proof() })
  }

  /** A generator over the server with these weights. */
  async open(model: TinyModel, options?: Partial<RemoteOptions>): Promise<Generator> {
    const generator = await this.connected(options)
    if (this.loaded !== model) await this.give(generator, model)
    return generator
  }

  /** Each token's own, by our model, of the distribution that the sample says its numbers mean. */
  async check(model: TinyModel, sample: Sample, temperature = 1): Promise<void> {
    const ids = [...sample.promptIds, ...sample.responseIds]
    const from = sample.promptIds.length - 1
    const { raw, processed } = sample.logprobs
    if (raw) expect(largestDifference(raw, (await model.score(ids)).subarray(from))).toBeLessThan(tolerance)
    if (processed)
      expect(largestDifference(processed, (await model.score(ids, temperature || 1)).subarray(from))).toBeLessThan(
        tolerance,
      )
    expect(Object.keys(sample.logprobs).length).toBeGreaterThan(0)
  }
}
