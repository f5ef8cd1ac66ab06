/** Generation by servers: several that serve the same model, as one engine. */
import type { PolicyVersion } from '../../model/index.js'
import type {
  GenerateOptions,
  GenerationRequest,
  Generator,
  GeneratorCapabilities,
  GeneratorCounts,
  Outcome,
  WeightsAgreement,
  WeightsUpdate,
} from '../generator.js'
import { OutcomeStream } from '../outcome-stream.js'
import { connectReplicas } from './connect.js'
import type { Dialect } from './dialect.js'
import { EngineError } from './errors.js'
import { HttpServer } from './http-server.js'
import { type RemoteOptions, type ResolvedRemoteOptions, resolveRemoteOptions } from './options.js'
import { Replica } from './replica.js'
import { ReplicaControl } from './replica-control.js'
import { ReplicaPool } from './replica-pool.js'
import { admitRequest, type RemoteLimits, type RequestListener } from './request-task.js'
import { SampleTask } from './sample-task.js'

export class RemoteGenerator implements Generator {
  private readonly inFlight = new Map<string, readonly SampleTask[]>()
  private isClosed = false

  private constructor(
    private readonly pool: ReplicaPool,
    private readonly control: ReplicaControl,
    private readonly limits: RemoteLimits,
    private readonly options: ResolvedRemoteOptions,
  ) {}

  /** Resolves when one server at least can be used; the others join as they come. */
  static async connect(dialect: Dialect, given: RemoteOptions): Promise<RemoteGenerator> {
    const options = resolveRemoteOptions(given)
    const { apiKey, maxInFlight, controlTimeoutMs } = options
    const replicas = options.addresses.map(
      address => new Replica(new HttpServer({ address, apiKey, maxInFlight, controlTimeoutMs }), maxInFlight),
    )
    const control: ReplicaControl = new ReplicaControl(() => pool, dialect, options)
    const pool = new ReplicaPool(replicas, dialect, options, control)
    try {
      await connectReplicas(replicas, { dialect, options, recover: replica => control.recover(replica) })
      const limits = limitsOf(replicas, options)
      control.limits = limits
      pool.start()
      return new RemoteGenerator(pool, control, limits, options)
    } catch (error) {
      pool.close()
      await Promise.all(replicas.map(({ server }) => server.close()))
      throw error
    }
  }

  get counts(): GeneratorCounts {
    return this.pool.counts
  }

  get maxLength(): number {
    return this.limits.maxLength
  }

  get vocabSize(): number {
    return this.limits.vocabSize
  }

  get policyVersion(): PolicyVersion {
    return this.control.version
  }

  get agreement(): WeightsAgreement | undefined {
    return this.control.weights.agreement
  }

  get capabilities(): GeneratorCapabilities {
    const facts = this.pool.replicas.filter(({ isConnected }) => isConnected).map(({ facts }) => facts)
    const { logprobs, topLogprobs, structured, tokenizer } = this.limits
    return {
      logprobs: [logprobs],
      topLogprobs,
      promptLogprobs: true,
      text: tokenizer !== undefined,
      tokens: true,
      media: false,
      structured,
      sleep: facts.every(({ sleep }) => sleep),
      weights: facts.some(({ control }) => control !== 'full')
        ? []
        : facts.every(({ adapters }) => adapters)
          ? ['directory', 'adapter']
          : ['directory'],
    }
  }

  generate(
    requests: Iterable<GenerationRequest> | AsyncIterable<GenerationRequest>,
    { signal, onToken }: GenerateOptions = {},
  ): AsyncIterableIterator<Outcome, undefined> {
    const most = this.options.maxInFlight * this.pool.replicas.length
    // Some wait: a place that becomes free is filled at once.
    const room = { samples: most + Math.min(most, 256), unread: Math.min(most, 512) }
    return new OutcomeStream({
      requests,
      signal,
      room,
      asleep: this.control.isAsleep,
      submit: (request, onOutcome) => this.submit(request, { onToken, onOutcome }),
    })
  }

  private submit(request: GenerationRequest, listener: RequestListener): () => void {
    const { id, n = 1, firstSample = 0 } = request
    if (this.isClosed) throw new EngineError('the engine is closed')
    if (this.inFlight.has(id)) throw new RangeError(`a request ${id} is in flight already`)
    let left = n
    const onOutcome = (outcome: Outcome): void => {
      if (--left === 0) this.inFlight.delete(id)
      listener.onOutcome(outcome)
    }
    const admitted = admitRequest(request, { ...listener, onOutcome }, this.limits)
    if (Array.isArray(admitted)) {
      // Not before this returns.
      queueMicrotask(() => admitted.forEach(onOutcome))
      return () => {}
    }
    const tasks = Array.from({ length: n }, (_, i) => new SampleTask(admitted, firstSample + i, i))
    this.inFlight.set(id, tasks)
    queueMicrotask(() => {
      for (const task of tasks) if (!task.outcome) this.pool.submit(task)
    })
    return () => {
      for (const task of tasks) this.pool.abort(task)
    }
  }

  abort(requestId: string): void {
    for (const task of this.inFlight.get(requestId) ?? []) this.pool.abort(task)
  }

  abortAll(): void {
    for (const id of [...this.inFlight.keys()]) this.abort(id)
  }

  pause(): Promise<void> {
    return this.control.pause()
  }

  resume(): void {
    this.control.resume()
  }

  updateWeights(update: WeightsUpdate): Promise<void> {
    return this.control.updateWeights(update)
  }

  sleep(): Promise<void> {
    return this.control.sleep()
  }

  wake(): Promise<void> {
    return this.control.wake()
  }

  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    await this.control.wakeAtEnd()
    this.pool.close()
    await Promise.all(this.pool.replicas.map(({ server }) => server.close()))
  }
}

/** What all servers can take. */
function limitsOf(replicas: readonly Replica[], { vocabSize, tokenizer }: ResolvedRemoteOptions): RemoteLimits {
  const facts = replicas.filter(({ isConnected }) => isConnected).map(({ facts }) => facts)
  const [{ logprobs, structured }] = facts as [(typeof facts)[0] & object]
  const least = (value: (one: (typeof facts)[number]) => number): number => Math.min(...facts.map(value))
  return {
    vocabSize,
    tokenizer,
    logprobs,
    maxLength: least(one => one.maxLength),
    maxPromptLength: least(one => one.maxPromptLength),
    topLogprobs: least(one => one.topLogprobs),
    maxTemperature: least(one => one.maxTemperature ?? Number.POSITIVE_INFINITY),
    structuredNeeds: facts.find(one => one.structuredNeeds !== undefined)?.structuredNeeds,
    structured: structured.filter(kind => facts.every(one => one.structured.includes(kind))),
  }
}
