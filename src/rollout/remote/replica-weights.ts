/** Which weights the servers should have, how each gets them, and the proof that it has them. */
import { randomUUID } from 'node:crypto'
import type { PolicyVersion } from '../../model/index.js'
import type { WeightsProof, WeightsUpdate } from '../generator.js'
import { resolveSampling } from '../sampling.js'
import type { Dialect, DialectUpdate, GenerationAttempt } from './dialect.js'
import { EngineError, TransportError } from './errors.js'
import type { EngineEvent, ResolvedRemoteOptions } from './options.js'
import { parseJson } from './parse-long.js'
import type { Replica } from './replica.js'
import { serverWords } from './server-words.js'

export interface PlannedWeights {
  readonly version: PolicyVersion
  /** Undefined: they are what the servers were started with. */
  readonly update: DialectUpdate | undefined
  readonly proof: WeightsProof | undefined
}

/** Two implementations of one model never agree better than this. */
const leastTolerance = 1e-4
/** How much worse than at first a proof may be. */
const toleranceFactor = 4

type Tell = (kind: EngineEvent['kind'], replica: Replica, message: string) => void

export class ReplicaWeights {
  private current: PlannedWeights
  /** Some update was more than a name. */
  isUpdated = false
  /** Tells our names of weights from those that an earlier run left on a server that is still up. */
  private readonly mark = randomUUID().slice(0, 8)
  private readonly unproved = new Set<Replica>()
  private readonly firstDifference = new Map<Replica, number>()

  constructor(
    private readonly dialect: Dialect,
    private readonly options: ResolvedRemoteOptions,
    private readonly tell: Tell,
  ) {
    this.current = { version: options.version, update: undefined, proof: undefined }
  }

  get version(): PolicyVersion {
    return this.current.version
  }

  /** What servers call the weights of a version. */
  private markerOf(version: PolicyVersion): string {
    return `${version}-${this.mark}`
  }

  /** How an update is done here; undefined where there is nothing to do. */
  plan(update: WeightsUpdate, replicas: readonly Replica[]): PlannedWeights | undefined {
    const { version, directory, adapter, proof } = update
    const { serverPath } = this.options
    const missing = replicas.find(({ facts }) => facts.control !== 'full')
    const planned = (update: DialectUpdate): PlannedWeights => {
      if (missing && missing.facts.control !== 'full')
        throw new EngineError(`${missing.url}: weights cannot be changed: ${missing.facts.control.missing}`)
      return { version, update, proof }
    }
    if (adapter !== undefined && replicas.every(({ facts }) => facts.adapters))
      return planned({ kind: 'adapter', path: serverPath(adapter), name: `policy@${this.markerOf(version)}` })
    if (directory !== undefined)
      return planned({ kind: 'directory', path: serverPath(directory), marker: this.markerOf(version) })
    if (adapter !== undefined)
      throw new EngineError('an adapter alone: the servers were started without adapters', {
        remedy: 'Start them with --enable-lora, and vLLM with VLLM_ALLOW_RUNTIME_LORA_UPDATING=1; or give a directory.',
      })
    if (this.isUpdated && version !== this.version)
      throw new EngineError(`version ${version}: a server needs a directory or an adapter to get the weights from`)
    return version === this.version ? undefined : { version, update: undefined, proof }
  }

  /** From now on servers should have these. Answers with those they should have had before. */
  remember(next: PlannedWeights, replicas: readonly Replica[]): PlannedWeights {
    const previous = this.current
    this.current = next
    if (next.update) this.isUpdated = true
    this.unproved.clear()
    for (const replica of replicas) {
      replica.version = undefined
      // Also one whose answer gets lost, and that is known by the name of its weights afterwards.
      if (next.proof) this.unproved.add(replica)
    }
    return previous
  }

  /** Gives a paused server the weights it should have. A refusal leaves it without work until an update succeeds. */
  async give(replica: Replica): Promise<void> {
    const { version, update, proof } = this.current
    const { dialect } = this
    const previous = replica.adapter
    try {
      if (update) await dialect.update(replica.server, update, replica.facts)
      else if (replica.marksVersions)
        await dialect.update(replica.server, { kind: 'name', marker: this.markerOf(version) }, replica.facts)
      await this.checkMarker(replica)
    } catch (error) {
      replica.version = undefined
      if (!(error instanceof TransportError)) replica.unusable = (error as Error).message
      throw error
    }
    replica.markers.set(this.markerOf(version), version)
    replica.adapter = update?.kind === 'adapter' ? update.name : undefined
    replica.version = version
    replica.unusable = undefined
    replica.instance = proof || replica.marksVersions ? undefined : await this.instanceOf(replica)
    if (proof) this.unproved.add(replica)
    this.tell('updated', replica, `has the weights of version ${version}`)
    if (previous !== undefined && previous !== replica.adapter)
      await dialect.unload(replica.server, previous).catch(() => {})
  }

  /** A server that was away, and not started anew, may still have the adapter that it is about to be given. */
  async forgetAdapter(replica: Replica): Promise<void> {
    const { update } = this.current
    replica.adapter = undefined
    if (update?.kind === 'adapter') await this.dialect.unload(replica.server, update.name).catch(() => {})
  }

  /** For servers that cannot say which weights they have: whether they are still who they were. */
  private async instanceOf({ server }: Replica): Promise<string | undefined> {
    try {
      return await this.dialect.instance(server)
    } catch (error) {
      if (error instanceof TransportError) throw error
      return undefined
    }
  }

  private async checkMarker(replica: Replica): Promise<void> {
    const { version, update } = this.current
    if (update?.kind === 'adapter' || !replica.marksVersions) return
    const marker = await this.dialect.marker(replica.server, replica.facts)
    if (marker !== undefined && marker !== this.markerOf(version))
      throw new EngineError(
        `${replica.url}: it was given the weights of version ${version}, and calls those it has "${marker}"`,
      )
  }

  /** Whether a server no longer calls its weights by a name of ours; one that was never given any cannot be told from a new one. */
  async isStartedAnew(replica: Replica): Promise<boolean> {
    const marker = this.isUpdated ? await this.dialect.marker(replica.server, replica.facts) : undefined
    return marker !== undefined && !marker.endsWith(this.mark)
  }

  /** What a server that may have been started anew has. Where that cannot be known, it gets its weights again. */
  async recognise(replica: Replica, after: 'idle' | 'broken' | 'down'): Promise<void> {
    const { version, update, proof } = this.current
    const { dialect } = this
    const marker = await dialect.marker(replica.server, replica.facts)
    if (!this.isUpdated) {
      // Those it was started with; what it calls them is learnt here.
      if (marker !== undefined) replica.markers.set(marker, version)
      replica.version = version
      return
    }
    const had = replica.version === version
    replica.version = undefined
    const hasThem = async (): Promise<boolean> => {
      // A request that names an adapter the server does not have is refused by that name.
      if (update?.kind === 'adapter') return had && after !== 'down'
      if (marker !== undefined) return marker === this.markerOf(version)
      if (!had || after === 'down') return false
      if (proof) return (await this.differenceOf(replica, proof)) <= this.tolerance(replica)
      return replica.instance === undefined ? after === 'idle' : replica.instance === (await this.instanceOf(replica))
    }
    if (!(await hasThem())) return
    replica.version = version
    // Its answer to the update may have been lost: what it calls them is known all the same.
    if (marker !== undefined && update?.kind !== 'adapter') replica.markers.set(marker, version)
  }

  /** The fixed text of an update, scored by the server: other weights give other numbers. */
  async proveIfNew(replica: Replica): Promise<void> {
    const { proof, version } = this.current
    if (!proof || !this.unproved.has(replica) || replica.version !== version) return
    const difference = await this.differenceOf(replica, proof)
    // Not before there is an answer: a server that was away meanwhile is asked again.
    this.unproved.delete(replica)
    const limit = this.tolerance(replica)
    if (difference <= limit) {
      if (!this.firstDifference.has(replica)) this.firstDifference.set(replica, difference)
      this.tell('proved', replica, `version ${version}: log-probabilities differ by ${difference.toExponential(1)}`)
      return
    }
    const message =
      `${replica.url}: the weights of version ${version} were loaded, but the server gives other log-probabilities ` +
      `(mean difference ${difference.toPrecision(2)} over ${proof.logprobs.length} tokens, at most ${limit.toPrecision(2)} is expected)`
    replica.version = undefined
    replica.unusable = message
    this.tell('drained', replica, message)
    for (const running of [...replica.running]) running.cancel('drained')
    throw new EngineError(message, {
      remedy:
        'vLLM 0.32 keeps the old output head of a model with tied embeddings: serve one with tie_word_embeddings false, or another version. ' +
        'Otherwise see whether the server reads the directory that was written, and runs the same model in the same precision.',
    })
  }

  private tolerance(replica: Replica): number {
    const first = this.firstDifference.get(replica)
    return first === undefined ? this.options.proofTolerance : Math.max(leastTolerance, toleranceFactor * first)
  }

  private async differenceOf(replica: Replica, { ids, logprobs }: WeightsProof): Promise<number> {
    const found = await this.score(replica, ids)
    if (found.length !== logprobs.length)
      throw new EngineError(`${replica.url}: ${found.length} log-probabilities for a proof of ${ids.length} tokens`)
    return found.reduce((sum, value, i) => sum + Math.abs(value - logprobs[i]!), 0) / found.length
  }

  private async score(replica: Replica, ids: Int32Array): Promise<Float32Array> {
    const { vocabSize, controlTimeoutMs: timeoutMs } = this.options
    const attempt: GenerationAttempt = {
      id: `whetstone-proof-${process.pid}-${performance.now()}`,
      ids,
      idsJson: `[${ids.join(',')}]`,
      maxNewTokens: 1,
      minNewTokens: 0,
      temperature: 0,
      seed: 0,
      sampling: resolveSampling({ seed: 0, maxNewTokens: 1, temperature: 0 }, { vocabSize, n: 1 }),
      adapter: replica.adapter,
      promptLogprobs: 0,
      transport: 'whole',
    }
    const { path, body } = this.dialect.generation(attempt, replica.facts)
    const { status, text } = await replica.server.exchange({ method: 'POST', path, body, timeoutMs }).reply
    if (status !== 200)
      throw new EngineError(
        `${replica.url}: scoring the proof: the server answered ${status}: ${serverWords(replica.server.hide(text))}`,
      )
    const { promptLogprobs } = this.dialect.answer(await parseJson(text), attempt, replica.facts)
    if (!promptLogprobs) throw new EngineError(`${replica.url}: it scored no prompt for the proof`)
    return promptLogprobs.logprobs
  }
}
