/** The weights that servers should have: how each server gets them, and the proof that it has them. */
import { randomUUID } from 'node:crypto'
import type { PolicyVersion } from '../../model/index.js'
import type { WeightsAgreement, WeightsProof, WeightsUpdate } from '../generator.js'
import { tiedHeadRemedy } from './check-weights.js'
import type { Dialect, DialectUpdate } from './dialect.js'
import { EngineError, TransportError } from './errors.js'
import type { ResolvedRemoteOptions } from './options.js'
import { ProofCheck } from './proof-check.js'
import type { Replica } from './replica.js'

export interface PlannedWeights {
  readonly version: PolicyVersion
  /** Undefined: the weights that the servers were started with. */
  readonly update: DialectUpdate | undefined
  readonly proof: WeightsProof | undefined
}

export class ReplicaWeights {
  private target: PlannedWeights
  /** Some update was more than a name. */
  isUpdated = false
  /** Tells our names of weights from those that an earlier run left on a server. */
  private readonly mark = randomUUID().slice(0, 8)
  private readonly unproved = new Set<Replica>()
  private readonly proofs: ProofCheck
  /** The worst of the proofs of the current weights. */
  agreement: WeightsAgreement | undefined

  constructor(
    private readonly dialect: Dialect,
    private readonly options: ResolvedRemoteOptions,
  ) {
    this.target = { version: options.version, update: undefined, proof: undefined }
    this.proofs = new ProofCheck(dialect, options)
  }

  get version(): PolicyVersion {
    return this.target.version
  }

  /** The name of a version's weights on servers. */
  private markerOf(version: PolicyVersion): string {
    return `${version}-${this.mark}`
  }

  /** Chooses how an update is made; undefined where there is nothing to do. */
  plan(update: WeightsUpdate, replicas: readonly Replica[]): PlannedWeights | undefined {
    const { version, directory, adapter, proof } = update
    const { serverPath } = this.options
    const planned = (update: DialectUpdate): PlannedWeights => {
      for (const { url, facts } of replicas)
        if (facts.control !== 'full')
          throw new EngineError(`${url}: weights cannot be changed: ${facts.control.missing}`)
      return { version, update, proof }
    }
    if (adapter !== undefined && replicas.every(({ facts }) => facts.adapters))
      return planned({ kind: 'adapter', path: serverPath(adapter), name: `policy@${this.markerOf(version)}` })
    if (directory !== undefined)
      return planned({ kind: 'directory', path: serverPath(directory), marker: this.markerOf(version) })
    if (adapter !== undefined)
      throw new EngineError('the update has only an adapter, but the servers were started without adapters', {
        remedy: 'Start them with --enable-lora, and vLLM with VLLM_ALLOW_RUNTIME_LORA_UPDATING=1; or give a directory.',
      })
    if (this.isUpdated && version !== this.version)
      throw new EngineError(`version ${version}: a server needs a directory or an adapter to load the weights from`)
    return version === this.version ? undefined : { version, update: undefined, proof }
  }

  /** From now on servers should have these weights. Returns the previous target. */
  setTarget(next: PlannedWeights, replicas: readonly Replica[]): PlannedWeights {
    const previous = this.target
    this.target = next
    if (next.update) this.isUpdated = true
    this.unproved.clear()
    this.agreement = undefined
    for (const replica of replicas) {
      replica.forgetVersion()
      // Also a server whose answer gets lost, and whose weights are recognised by their name later.
      if (next.proof) this.unproved.add(replica)
    }
    return previous
  }

  /** Gives a paused server the target weights. A server that refuses gets no work until an update succeeds. */
  async give(replica: Replica): Promise<void> {
    const { version, update, proof } = this.target
    const { dialect } = this
    const previous = replica.adapter
    const marker = this.markerOf(version)
    try {
      if (update) await dialect.update(replica.client, update, replica.facts)
      else if (replica.marksVersions) await dialect.update(replica.client, { kind: 'name', marker }, replica.facts)
      await this.checkMarker(replica)
    } catch (error) {
      if (error instanceof TransportError) replica.forgetVersion()
      else replica.refuse((error as Error).message)
      throw error
    }
    const instance = proof || replica.marksVersions ? undefined : await this.instanceOf(replica)
    replica.gave(version, marker, { adapter: update?.kind === 'adapter' ? update.name : undefined, instance })
    if (proof) this.unproved.add(replica)
    replica.tell('updated', `has the weights of version ${version}`)
    if (previous !== undefined && previous !== replica.adapter)
      await dialect.unload(replica.client, previous).catch(() => {})
  }

  /** A server that was down, but not restarted, may still have the adapter that it is about to get. */
  async unloadAdapter(replica: Replica): Promise<void> {
    const { update } = this.target
    replica.forgetAdapter()
    if (update?.kind === 'adapter') await this.dialect.unload(replica.client, update.name).catch(() => {})
  }

  /** Identifies the server's process, where the server cannot name its weights. */
  private async instanceOf({ client }: Replica): Promise<string | undefined> {
    try {
      return await this.dialect.instance(client)
    } catch (error) {
      if (error instanceof TransportError) throw error
      return undefined
    }
  }

  private async checkMarker(replica: Replica): Promise<void> {
    const { version, update } = this.target
    if (update?.kind === 'adapter' || !replica.marksVersions) return
    const marker = await this.dialect.marker(replica.client, replica.facts)
    if (marker !== undefined && marker !== this.markerOf(version))
      throw new EngineError(
        `${replica.url}: the server was given the weights of version ${version}, but it names its weights "${marker}"`,
      )
  }

  /** Whether its weights no longer have a name of ours. False for a server that never got any: it looks like a new one. */
  async isRestarted(replica: Replica): Promise<boolean> {
    const marker = this.isUpdated ? await this.dialect.marker(replica.client, replica.facts) : undefined
    return marker !== undefined && !marker.endsWith(this.mark)
  }

  /** Finds out whether a server that may have been restarted has the target weights. Where it cannot tell, it gets them again. */
  async recognise(replica: Replica, after: 'idle' | 'broken' | 'down'): Promise<void> {
    const { version, update, proof } = this.target
    const marker = await this.dialect.marker(replica.client, replica.facts)
    // The weights it was started with, and their name.
    if (!this.isUpdated) return replica.has(version, marker)
    const had = replica.version === version
    replica.forgetVersion()
    const hasThem = async (): Promise<boolean> => {
      // A server without the adapter refuses requests that name it.
      if (update?.kind === 'adapter') return had && after !== 'down'
      if (marker !== undefined) return marker === this.markerOf(version)
      if (!had || after === 'down') return false
      if (proof) return agrees(await this.proofs.compare(replica, proof))
      return replica.instance === undefined ? after === 'idle' : replica.instance === (await this.instanceOf(replica))
    }
    if (await hasThem()) replica.has(version, update?.kind === 'adapter' ? undefined : marker)
  }

  /** Lets the server score the fixed text of an update: other weights give other log-probabilities. */
  async proveIfNew(replica: Replica): Promise<void> {
    const { proof, version } = this.target
    if (!proof || !this.unproved.has(replica) || replica.version !== version) return
    const agreement = await this.proofs.compare(replica, proof)
    // Only after an answer: a server that went down meanwhile is asked again.
    this.unproved.delete(replica)
    const { difference, limit } = agreement
    if (agrees(agreement)) {
      if (!this.agreement || limit > this.agreement.limit) this.agreement = agreement
      replica.tell('proved', `version ${version}: log-probabilities differ by ${difference.toExponential(1)}`)
      return
    }
    const message =
      `${replica.url}: the weights of version ${version} were loaded, but the server gives other log-probabilities ` +
      `(mean difference ${difference.toPrecision(2)} over ${proof.logprobs.length} tokens, rounding explains at most ${limit.toPrecision(2)})`
    replica.refuse(message)
    replica.tell('drained', message)
    replica.cancelAll('drained')
    throw new EngineError(message, { remedy: this.remedyFor(replica) })
  }

  /** The likeliest cause, by the kind of update. */
  private remedyFor({ facts }: Replica): string {
    const precision = 'If it is the same model, start it with the dtype of the trainer (--dtype).'
    if (this.target.update?.kind === 'adapter')
      return `The adapter is loaded over the server's own weights: serve the directory that \`model\` names. ${precision}`
    // With the model's directory known, `checkDirectory` has refused this before.
    if (facts.keepsTiedHead === true && this.options.modelDirectory === undefined)
      return `If its embeddings are tied: vLLM ${facts.software} keeps the old output head. ${tiedHeadRemedy} ${precision}`
    const features =
      this.dialect.type === 'sglang' && (this.target.proof?.media ?? []).length > 0
        ? 'If the vision tower is trained: SGLang keeps features of images over updates; start it with SGLANG_VLM_CACHE_SIZE_MB=0. '
        : ''
    return `${features}Check that the server reads the directory that was written. ${precision}`
  }
}

const agrees = ({ difference, limit }: WeightsAgreement): boolean => difference <= limit
