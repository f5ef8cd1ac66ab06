/**
 * A model with a copy on every rank, behind the contract of one model. Sequences are divided over the ranks by their tokens; outputs
 * come back to rank 0, which calls the loss; gradients per token go out again, and each rank goes backward. A step adds up the
 * gradients of all ranks and changes all copies alike, or none.
 */
import {
  Accumulation,
  type ExportOptions,
  type ExportReport,
  type Gradients,
  type LoadOptions,
  type LocalModel,
  type ModelCapabilities,
  type ModelConfig,
  ModelError,
  type ModelInput,
  NonFiniteError,
  type Outputs,
  type PolicyVersion,
  type ReplicaTrainOptions,
  type Role,
  type ScoreOptions,
  type TokenModel,
  type TrainOptions,
  type TrainStepOptions,
  type TrainStepResult,
  Turns,
} from '../model/index.js'
import type { Device, DType } from '../tensor/index.js'
import { blamedStep } from './blame.js'
import { checkGradients } from './check-gradients.js'
import { isSymptom, RankError } from './errors.js'
import { LossOrder } from './loss-order.js'
import type { LoadCommand, ModelCommand, ReplicaOptions, StepAnswer } from './rank-models.js'
import { RemoteReplica, type Replica } from './replica.js'
import { planShards } from './shard-plan.js'
import type { World } from './world.js'

type LossOf<R extends Role> = (outputs: readonly Outputs[R][], indices: readonly number[]) => readonly Gradients[R][]

/** A rank's part of a call. */
interface Shard<R extends Role> {
  readonly rank: number
  readonly replica: Replica<R>
  /** Of the sequences of the call. */
  readonly indices: readonly number[]
}

export class DistributedModel<R extends Role = Role> implements TokenModel<R> {
  private readonly accumulation = new Accumulation<R>()
  private readonly turns = new Turns()
  private readonly replicas: readonly Replica<R>[]
  /** For each rank, the sequences of its calls since the last step, and which call of all each was part of. */
  private parts: { call: number; indices: readonly number[] }[][] = []

  private constructor(
    readonly world: World,
    /** As the other ranks know it. */
    readonly name: string,
    /** The copy of rank 0. */
    readonly local: LocalModel<R>,
  ) {
    this.replicas = [local, ...world.peers.map(peer => new RemoteReplica(peer, name, local.role))]
    this.forgetParts()
  }

  /**
   * Loads a Hugging Face directory on every rank, each on its own device. Every machine has the directory under the same path; where
   * its weights differ, the model is refused.
   */
  static async load<R extends Role = Role>(
    world: World,
    directory: string,
    options: ReplicaOptions<R> & Pick<LoadOptions<R>, 'signal' | 'onProgress'> = {},
  ): Promise<DistributedModel<R>> {
    return world.explained(() => DistributedModel.loadEverywhere(world, directory, options))
  }

  private static async loadEverywhere<R extends Role>(
    world: World,
    directory: string,
    options: ReplicaOptions<R> & Pick<LoadOptions<R>, 'signal' | 'onProgress'>,
  ): Promise<DistributedModel<R>> {
    const { signal, onProgress, ...data } = options
    const command: LoadCommand = { model: world.newName('model'), directory, options: data as ReplicaOptions }
    world.refuseBroken()
    const others = world.settle(world.peers.map(peer => peer.ask('model.load', command, { signal })))
    const own = await world.settle([
      world.models.load<R>(command, { ...(signal && { signal }), ...(onProgress && { onProgress }) }),
    ])
    const answers = await others
    try {
      if (own[0].status === 'rejected') throw own[0].reason
      for (const [i, answer] of answers.entries())
        if (answer.status === 'rejected') throw namingRank(answer.reason, world.peers[i]!.name)
      const local = own[0].value
      const mine = await local.fingerprint()
      for (const [i, answer] of answers.entries())
        if (answer.status === 'fulfilled' && answer.value.body !== mine)
          throw new RankError(
            `${world.peers[i]!.name} has other weights in ${directory} than rank 0; give every machine the same files`,
          )
      return new DistributedModel(world, command.model, local)
    } catch (error) {
      world.models.dispose(command.model)
      for (const peer of world.peers) peer.ask('model', { model: command.model, do: 'dispose' }).catch(() => {})
      throw error
    }
  }

  get role(): R {
    return this.local.role
  }
  get config(): ModelConfig {
    return this.local.config
  }
  get version(): PolicyVersion {
    return this.local.version
  }
  get vocabSize(): number {
    return this.local.vocabSize
  }
  get maxLength(): number {
    return this.local.maxLength
  }
  get capabilities(): ModelCapabilities {
    return this.local.capabilities
  }
  /** Of rank 0. */
  get device(): Device {
    return this.local.device
  }
  get dtype(): DType {
    return this.local.dtype
  }

  score(sequences: readonly ModelInput[], options: ScoreOptions = {}): Promise<Outputs[R][]> {
    return this.world.explained(() => this.scoreShards(sequences, options))
  }

  private async scoreShards(sequences: readonly ModelInput[], options: ScoreOptions): Promise<Outputs[R][]> {
    this.world.refuseBroken()
    this.local.checkInputs(sequences, options)
    const results = new Array<Outputs[R]>(sequences.length)
    const done = new Map<number, number>()
    await this.together(this.shards(sequences, options), options.signal, async ({ rank, replica, indices }, signal) => {
      const outputs = await replica.score(pick(sequences, indices), {
        ...shardOptions(options, indices),
        signal,
        onProgress: count => {
          done.set(rank, count)
          options.onProgress?.([...done.values()].reduce((sum, one) => sum + one, 0))
        },
      })
      for (const [k, index] of indices.entries()) results[index] = outputs[k]!
    })
    return results
  }

  forwardBackward(
    sequences: readonly ModelInput[],
    lossGradient: LossOf<R>,
    options: TrainOptions = {},
  ): Promise<void> {
    return this.turns.pass('forwardBackward()', async () => {
      this.world.refuseBroken()
      this.local.checkInputs([], options)
      const call = this.accumulation.begin(sequences, options)
      try {
        this.local.checkInputs(sequences, options)
        const shards = this.shards(sequences, options)
        const number = this.calls()
        for (const { rank, indices } of shards) this.parts[rank]!.push({ call: number, indices })
        const order = new LossOrder(shards.map(({ rank }) => rank))
        await this.together(shards, options.signal, async ({ rank, replica, indices }, signal) => {
          const numbers = indices.map(index => call.firstSequence + index)
          const loss = (outputs: readonly Outputs[R][], own: readonly number[]) =>
            order.turn(rank, () => {
              const which = own.map(k => indices[k]!)
              return checkGradients(outputs, lossGradient(outputs, which), which)
            })
          const given: ReplicaTrainOptions = { ...shardOptions(options, indices), numbers, signal }
          try {
            await replica.forwardBackward(pick(sequences, indices), loss, given)
            order.leave(rank)
          } catch (error) {
            order.fail(error)
            throw error
          }
        })
      } catch (error) {
        this.accumulation.fail(error)
        throw error
      }
    })
  }

  step(options: TrainStepOptions): Promise<TrainStepResult> {
    return this.turns.alone('step()', async () => {
      this.world.refuseBroken()
      this.local.checkStep(options)
      this.accumulation.refuseHalf()
      const parts = this.parts
      try {
        const made = this.world.inTurn(async () => {
          const others = this.world.peers.map(async peer => {
            const { body } = await peer.ask('model', { model: this.name, do: 'step', options } satisfies ModelCommand)
            return body as StepAnswer
          })
          const [own, ...answers] = await this.world.settle([this.local.step(options), ...others])
          return blamedStep(this.world, own, answers, parts)
        })
        return await this.world.explained(() => made)
      } finally {
        this.accumulation.clear()
        this.forgetParts()
      }
    })
  }

  zeroGrad(): void {
    this.turns.refuse('zeroGrad()')
    this.accumulation.clear()
    this.forgetParts()
    this.local.zeroGrad()
    for (const peer of this.world.peers) this.watched(peer.ask('model', { model: this.name, do: 'zeroGrad' }))
  }

  /** Written by rank 0; the same files as of a model of one process, whatever the number of ranks. */
  saveState(directory: string): Promise<void> {
    return this.turns.alone('saveState()', async () => {
      this.world.refuseBroken()
      await this.invitingOthers(() => this.local.saveState(directory))
    })
  }

  /** Read by rank 0, which gives every rank what it needs. A state of any number of ranks. */
  loadState(directory: string): Promise<void> {
    return this.turns.alone('loadState()', async () => {
      this.world.refuseBroken()
      await this.invitingOthers(() => this.local.loadState(directory))
      this.accumulation.clear()
      this.forgetParts()
    })
  }

  export(directory: string, options: ExportOptions): Promise<ExportReport> {
    return this.turns.alone('export()', async () => {
      this.world.refuseBroken()
      return this.invitingOthers(() => this.local.export(directory, options))
    })
  }

  offload(): Promise<void> {
    return this.everywhere('offload()', { model: this.name, do: 'offload' }, () => this.local.offload())
  }

  reload(): Promise<void> {
    return this.everywhere('reload()', { model: this.name, do: 'reload' }, () => this.local.reload())
  }

  /** Becomes a moving average of another model of the same ranks. */
  average(other: DistributedModel<R>, { decay }: { decay: number }): Promise<void> {
    const command = { model: this.name, do: 'average', other: other.name, decay } as const
    return this.everywhere('average()', command, () => this.local.average(other.local, { decay }))
  }

  /** Takes over another model's weights, and its version. */
  copyFrom(other: DistributedModel): Promise<void> {
    const command = { model: this.name, do: 'copyFrom', other: other.name } as const
    return this.everywhere('copyFrom()', command, () => this.local.copyFrom(other.local))
  }

  mergeAdapter(): Promise<void> {
    return this.everywhere('mergeAdapter()', { model: this.name, do: 'mergeAdapter' }, () => this.local.mergeAdapter())
  }

  /** Of a Hugging Face directory that every machine has. */
  loadWeights(directory: string): Promise<void> {
    const command = { model: this.name, do: 'loadWeights', directory } as const
    return this.everywhere('loadWeights()', command, () => this.local.loadWeights(directory))
  }

  /** A fingerprint of the weights, which every rank has the same. */
  async checksum(): Promise<string> {
    const answers = await this.world.askOthers('model', { model: this.name, do: 'checksum' })
    const mine = await this.local.checksum()
    const other = answers.findIndex(answer => answer !== mine)
    if (other !== -1) throw new RankError(`${this.world.peers[other]!.name} has other weights than rank 0`)
    return mine
  }

  dispose(): void {
    this.world.models.dispose(this.name)
    if (this.world.failure) return
    for (const peer of this.world.peers) this.watched(peer.ask('model', { model: this.name, do: 'dispose' }))
  }

  /** The ranks' parts of a call; ranks that get no sequence are left out. */
  private shards(sequences: readonly ModelInput[], options: TrainOptions): Shard<R>[] {
    const lengths = sequences.map(one => (one instanceof Int32Array ? one : one.ids).length)
    const { groupSize } = options
    const plan = planShards(lengths, { ranks: this.world.size, ...(groupSize !== undefined && { groupSize }) })
    return plan.flatMap((indices, rank) =>
      indices.length > 0 ? [{ rank, replica: this.replicas[rank]!, indices }] : [],
    )
  }

  /** Runs all parts to their end. Where one fails the others are stopped, and its error is thrown when all have ended. */
  private async together(
    shards: readonly Shard<R>[],
    signal: AbortSignal | undefined,
    work: (shard: Shard<R>, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    signal?.throwIfAborted()
    const stop = new AbortController()
    const all = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal
    let failure: { cause: unknown } | undefined
    await Promise.all(
      shards.map(async shard => {
        try {
          await this.world.explained(() => work(shard, all))
        } catch (error) {
          failure ??= { cause: namingSequence(error, shard.indices) }
          stop.abort(error)
        }
      }),
    )
    this.world.refuseBroken()
    signal?.throwIfAborted()
    if (failure) throw failure.cause
  }

  /** The same change on every rank. */
  private everywhere(what: string, command: ModelCommand, own: () => Promise<void>): Promise<void> {
    const change = (): Promise<void> =>
      this.world.inTurn(async () => {
        const others = this.world.peers.map(peer => peer.ask('model', command))
        const settled = await this.world.settle([own(), ...others])
        const failed = settled.find(one => one.status === 'rejected')
        if (!failed) return
        if (isSymptom(failed.reason)) throw failed.reason
        if (settled.some(one => one.status === 'fulfilled'))
          this.world.fail(new RankError(`${what} failed on some ranks and not on others`, { cause: failed.reason }))
        throw failed.reason
      })
    return this.turns.alone(what, () => this.world.explained(change))
  }

  /** Work of rank 0 that may need the others: they have done their part when this resolves. */
  private async invitingOthers<T>(work: () => Promise<T>): Promise<T> {
    return this.world.explained(() =>
      this.world.inTurn(async () => {
        const [done] = await this.world.settle([work()])
        const [invited] = await this.world.settle([this.world.invited()])
        if (invited.status === 'rejected') throw invited.reason
        if (done.status === 'rejected') throw done.reason
        return done.value
      }),
    )
  }

  /** An answer that nothing waits for: an error means that the ranks are no longer alike. */
  private watched(answer: Promise<unknown>): void {
    answer.catch((error: Error) => this.world.suspect(error))
  }

  private calls(): number {
    return this.parts.flat().reduce((most, { call }) => Math.max(most, call + 1), 0)
  }

  private forgetParts(): void {
    this.parts = this.replicas.map(() => [])
  }
}

const pick = <T>(all: readonly T[], indices: readonly number[]): T[] => indices.map(index => all[index]!)

function shardOptions<T extends ScoreOptions>(options: T, indices: readonly number[]): T {
  const { from } = options
  return typeof from === 'object' ? { ...options, from: pick(from, indices) } : options
}

/** What is wrong with the files of one machine is not so on others. */
function namingRank(error: unknown, name: string): unknown {
  if (!(error instanceof ModelError || error instanceof RangeError)) return error
  return new RankError(`${name}: ${error.message}`, { cause: error })
}

/** An error of one rank names a sequence of its part; the caller knows them by their place in the call. */
function namingSequence(error: unknown, indices: readonly number[]): unknown {
  if (!(error instanceof NonFiniteError) || error.what === 'the gradient') return error
  return new NonFiniteError(error.what, indices[error.sequence]!, { cause: error })
}
