/** Several servers of the same model as one engine. */
import { setTimeout as delay } from 'node:timers/promises'
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
import type { Dialect } from './dialect.js'
import { EngineClient } from './engine-client.js'
import { EngineError, TransportError } from './errors.js'
import { type RemoteOptions, type ResolvedRemoteOptions, resolveRemoteOptions } from './options.js'
import { Replica } from './replica.js'
import { ReplicaControl } from './replica-control.js'
import { ReplicaPool } from './replica-pool.js'
import { admitRequest, type RemoteLimits, type RequestListener } from './request-task.js'
import { SampleTask } from './sample-task.js'
import { sentMedia } from './sent-media.js'

export class RemoteGenerator implements Generator {
  private readonly inFlight = new Map<string, readonly SampleTask[]>()
  private isClosed = false

  private constructor(
    private readonly pool: ReplicaPool,
    private readonly control: ReplicaControl,
    private readonly limits: RemoteLimits,
    private readonly options: ResolvedRemoteOptions,
  ) {}

  /** Resolves when at least one server can be used; the others join later. */
  static async connect(dialect: Dialect, given: RemoteOptions): Promise<RemoteGenerator> {
    const options = resolveRemoteOptions(given)
    const { apiKey, maxInFlight, controlTimeoutMs, onEvent } = options
    const replicas = options.addresses.map(address => {
      const client = new EngineClient({ address, apiKey, maxInFlight, controlTimeoutMs })
      return new Replica(client, { dialect, maxInFlight, onEvent })
    })
    const control = new ReplicaControl(replicas, dialect, options)
    const pool = new ReplicaPool(replicas, dialect, options, control)
    try {
      await connectReplicas(replicas, control, options)
      const limits = limitsOf(replicas, options)
      control.limits = limits
      pool.start()
      return new RemoteGenerator(pool, control, limits, options)
    } catch (error) {
      pool.close()
      await Promise.all(replicas.map(({ client }) => client.close()))
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
    return this.control.weights.version
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
      media: this.limits.media.includes('image'),
      audio: this.limits.audio === 'supported',
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
    // Some samples wait here, so that a free place is filled at once.
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
    if (this.inFlight.has(id)) throw new RangeError(`a request with the id ${id} is already in flight`)
    let left = n
    const onOutcome = (outcome: Outcome): void => {
      if (--left === 0) this.inFlight.delete(id)
      listener.onOutcome(outcome)
    }
    const admitted = admitRequest(request, { ...listener, onOutcome }, this.limits)
    if (Array.isArray(admitted)) {
      // After this returns.
      queueMicrotask(() => admitted.forEach(onOutcome))
      return () => {}
    }
    const tasks = Array.from({ length: n }, (_, i) => new SampleTask(admitted, firstSample + i, i))
    this.inFlight.set(id, tasks)
    const start = (): void => {
      for (const task of tasks) if (!task.outcome) this.pool.submit(task)
    }
    const { media = [], audios = [] } = request
    if (media.length + audios.length === 0) queueMicrotask(start)
    else
      sentMedia({ media, audios, vision: this.limits.vision, audio: this.options.audio })
        .then(sent => {
          admitted.sent = sent
          start()
        })
        .catch((error: unknown) => {
          for (const task of tasks) task.fail('engine', `its images, videos and sounds: ${(error as Error).message}`)
        })
    return () => {
      for (const task of tasks) this.pool.abort(task)
    }
  }

  abort(requestId: string): void {
    for (const task of this.inFlight.get(requestId) ?? []) this.pool.abort(task)
  }

  release(session: string): void {
    this.pool.release(session)
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
    await this.control.close()
    this.pool.close()
    await Promise.all(this.pool.replicas.map(({ client }) => client.close()))
  }
}

/** What all servers support. */
function limitsOf(
  replicas: readonly Replica[],
  { vocabSize, tokenizer, vision, audio }: ResolvedRemoteOptions,
): RemoteLimits {
  const facts = replicas.filter(({ isConnected }) => isConnected).map(({ facts }) => facts)
  const [{ logprobs, structured }] = facts as [(typeof facts)[0] & object]
  const least = (value: (one: (typeof facts)[number]) => number): number => Math.min(...facts.map(value))
  return {
    vocabSize,
    tokenizer,
    vision,
    media: (['image', 'video'] as const).filter(kind => facts.every(({ media }) => media.includes(kind))),
    mediaNeeds: vision
      ? facts.find(one => one.mediaNeeds !== undefined)?.mediaNeeds
      : 'the engine was connected without `vision`, the config of the tower',
    videoRates: facts.flatMap(one => one.videoRate ?? []),
    audio: audio
      ? (facts.map(one => one.audio).find(heard => heard !== 'supported') ?? 'supported')
      : { missing: 'the engine was connected without `audio`, which names the placeholder of a sound' },
    audioId: audio?.token,
    logprobs,
    maxLength: least(one => one.maxLength),
    maxPromptLength: least(one => one.maxPromptLength),
    topLogprobs: least(one => one.topLogprobs),
    maxTemperature: least(one => one.maxTemperature ?? Number.POSITIVE_INFINITY),
    structuredNeeds: facts.find(one => one.structuredNeeds !== undefined)?.structuredNeeds,
    structured: structured.filter(kind => facts.every(one => one.structured.includes(kind))),
  }
}

/** How often servers that are being started are asked again. */
const everyMs = 500

/**
 * Resolves when every server was tried and at least one can be used; the pool retries the others. Throws for a server that answers, but
 * lacks what is needed.
 */
async function connectReplicas(
  replicas: readonly Replica[],
  control: ReplicaControl,
  { onEvent, patienceMs, signal }: ResolvedRemoteOptions,
): Promise<void> {
  const end = performance.now() + patienceMs
  for (let first = true; ; first = false) {
    const tried = Promise.all(replicas.map(replica => connectOne(replica, control)))
    const reasons = await unlessAborted(tried, signal)
    if (replicas.some(({ isConnected }) => isConnected)) break
    const why = replicas.map(({ url }, i) => `${url}: ${reasons[i]}`).join('; ')
    if (performance.now() + everyMs > end) throw new EngineError(`no server can be reached (${why})`)
    if (first) for (const [i, { url }] of replicas.entries()) onEvent({ kind: 'waiting', url, message: reasons[i]! })
    await unlessAborted(delay(everyMs), signal)
  }
  const connected = replicas.filter(({ isConnected }) => isConnected)
  const [one] = connected as [Replica]
  const other = connected.find(({ facts }) => facts.logprobs !== one.facts.logprobs)
  if (other)
    throw new EngineError(
      `${one.url} gives ${one.facts.logprobs} log-probabilities, ${other.url} ${other.facts.logprobs}: start all servers with the same options`,
    )
}

/** Returns why the server cannot be reached yet; undefined: it is connected. */
async function connectOne(replica: Replica, control: ReplicaControl): Promise<string | undefined> {
  try {
    await control.recover(replica)
  } catch (error) {
    if (error instanceof TransportError) return error.message
    throw error
  }
  replica.connected()
  return undefined
}

/** Rejects with the signal's reason as soon as it aborts. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  const over = new AbortController()
  const aborted = new Promise<never>((_, reject) => {
    const stop = (): void => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true, signal: over.signal })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    over.abort()
  }
}
