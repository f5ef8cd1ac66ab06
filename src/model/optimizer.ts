/**
 * What makes the steps of a model: AdamW in this process alone, the same on every rank after the gradients of all were added up, or
 * divided over the ranks.
 */
import {
  AdamW,
  ArgumentError,
  type StepOptions,
  scope,
  type Tensor,
  type Update,
  unscoped,
  zeros,
} from '../tensor/index.js'
import { fillMissing, GradientSums, type Sized } from './gradient-buckets.js'
import type { OptimizerOptions } from './loading.js'
import { allocateMasters, startMasters } from './masters.js'
import type { Parameters } from './parameters.js'
import { anyRank, type Replicas } from './replicas.js'
import { ShardedAdamW } from './sharded-adamw.js'
import { once } from './weights.js'

/** An optimiser state as a file has it: whole tensors, or their shapes and what gives the whole when its turn comes. */
export interface SavedOptimizer {
  readonly tensors: ReadonlyMap<string, Tensor>
  readonly materialize?: (name: string) => Promise<Tensor>
  /** Frees what stands for the tensors; not the optimiser's own. */
  release(): void
}

export class ModelOptimizer {
  private made: { kind: 'whole'; adamw: AdamW } | { kind: 'sharded'; adamw: ShardedAdamW } | undefined
  private readonly sums: GradientSums | undefined
  /** Files whose digits training starts from. */
  masterSources: readonly string[]

  constructor(
    private readonly weights: Parameters,
    private readonly options: OptimizerOptions,
    masterSources: readonly string[],
    private readonly replicas: Replicas | undefined,
  ) {
    this.masterSources = masterSources
    this.sums = replicas && new GradientSums(replicas.group)
  }

  /** Applies the gradients of all ranks. `seed`: of masters, where they begin with this step. */
  async step(options: StepOptions, seed: number): Promise<Update> {
    if (this.replicas) return this.stepTogether(this.replicas, options, seed)
    const made = await this.started(seed)
    return (made.adamw as AdamW).step(options)
  }

  private async stepTogether(replicas: Replicas, options: StepOptions, seed: number): Promise<Update> {
    const trained = [...this.weights.trained()].map(([name, parameter]): Sized => ({ name, parameter }))
    const has = scope(() => trained.map(({ parameter }) => parameter.grad !== undefined))
    // What fails before the others are at work must not keep them waiting: all hear of it first.
    const started = await this.started(seed).catch((cause: unknown) => ({ kind: 'failed' as const, cause }))
    const device = trained[0]!.parameter.device
    const flags = Int32Array.from([started.kind === 'failed' ? 1 : 0, ...has.map(Number)])
    const [failed, ...anywhere] = await anyRank(replicas, flags, device)
    if (started.kind === 'failed') throw started.cause
    if (failed) throw new Error('another rank could not begin its step')
    const active = trained.filter((_, i) => anywhere[i])
    if (active.length === 0) throw new ArgumentError('no parameter has a gradient; call backward() first')
    fillMissing(active)
    if (started.kind === 'sharded')
      return started.adamw.step(
        active.map(({ name }) => name),
        options,
      )
    await this.sums!.sum(active)
    return started.adamw.step(options)
  }

  /** Where there is none yet, its masters are without numbers. */
  private empty(): NonNullable<ModelOptimizer['made']> {
    if (this.made) return this.made
    const { noDecay = [], shard } = this.options
    const kinds = new Map(this.weights.weightMap.map(({ name, kind }) => [name, kind]))
    const trained = [...this.weights.trained()]
    const decays = (name: string): boolean => !noDecay.includes(kinds.get(name) ?? 'matrix')
    // Those of the noDecay kinds do not decay. The rates come with each step.
    const groups = [true, false].map(wanted => ({
      parameters: new Map(trained.filter(([name]) => decays(name) === wanted)),
      lr: 0,
    }))
    if (shard && this.replicas) this.made = { kind: 'sharded', adamw: new ShardedAdamW(groups, this.replicas.group) }
    else {
      const masters = allocateMasters(this.weights)
      this.made = { kind: 'whole', adamw: new AdamW(groups.map(group => ({ ...group, masters }))) }
    }
    return this.made
  }

  private async started(seed: number): Promise<NonNullable<ModelOptimizer['made']>> {
    if (this.made) return this.made
    const { masters: kind = 'dither' } = this.options
    const start = { kind, seed, sources: this.masterSources }
    const made = this.empty()
    try {
      if (made.kind === 'whole') await startMasters(made.adamw.masters(), this.weights, start)
      else {
        await made.adamw.refresh()
        // One whole master at a time.
        for (const name of made.adamw.masterParts().keys()) {
          const whole = new Map([[name, wideCopy(this.weights.trained().get(name)!)]])
          await startMasters(whole, this.weights, start)
          await made.adamw.placeMaster(name, whole.get(name)!).finally(() => whole.get(name)!.dispose())
        }
      }
      return made
    } catch (error) {
      this.drop()
      throw error
    }
  }

  /** Everything it holds on the device. */
  held(): Iterable<Tensor> {
    if (!this.made) return []
    return this.made.kind === 'whole' ? this.made.adamw.state().values() : this.made.adamw.held()
  }

  /** Undefined before the first step. */
  saved(): SavedOptimizer | undefined {
    if (!this.made) return undefined
    if (this.made.kind === 'whole') return { tensors: this.made.adamw.state(), release: () => {} }
    const tensors = this.made.adamw.shapes()
    return {
      tensors,
      materialize: name => {
        this.replicas!.invite({ what: 'gather', name })
        return this.gather(name)
      },
      release: () => {
        for (const tensor of tensors.values()) tensor.dispose()
      },
    }
  }

  /** Of a divided state: a collective, which rank 0 asks the others for. */
  gather(name: string): Promise<Tensor> {
    if (this.made?.kind !== 'sharded') throw new Error('this optimiser is not divided over ranks')
    return this.made.adamw.gather(name)
  }

  /** What a state is loaded into, made where there is none: whole tensors, or shapes. */
  expected(): SavedOptimizer {
    this.empty()
    return this.saved()!
  }

  /** Opens a state, which is compared with what it will be loaded into; where it is refused, nothing was made for it. */
  async opening<T>(open: (expected: () => SavedOptimizer['tensors']) => Promise<T>): Promise<T> {
    const before = this.made
    let made: SavedOptimizer | undefined
    try {
      return await open(() => {
        made = this.expected()
        return made.tensors
      })
    } catch (error) {
      if (!before) this.drop()
      throw error
    } finally {
      made?.release()
    }
  }

  async place(name: string, whole: Tensor): Promise<void> {
    const made = this.empty()
    if (made.kind === 'sharded') return made.adamw.place(name, whole)
    await once(() => void made.adamw.state().get(name)!.copy_(whole))
  }

  /** After weights were replaced by those of a state. */
  async refresh(): Promise<void> {
    if (this.made?.kind === 'sharded') await this.made.adamw.refresh()
  }

  /**
   * The float32 masters of 16-bit weights, whole. Divided ones are gathered: `together` where every rank calls this, else rank 0 asks
   * the others. The caller releases them.
   */
  async masters(by: 'together' | 'rank 0'): Promise<{ masters: ReadonlyMap<string, Tensor>; release(): void }> {
    if (this.made?.kind !== 'sharded') return { masters: this.made?.adamw.masters() ?? new Map(), release: () => {} }
    const masters = new Map<string, Tensor>()
    for (const parameter of this.made.adamw.masterParts().keys()) {
      const name = `${parameter}.master`
      if (by === 'rank 0') this.replicas!.invite({ what: 'gather', name })
      masters.set(parameter, await this.gather(name))
    }
    return {
      masters,
      release: () => {
        for (const tensor of masters.values()) tensor.dispose()
      },
    }
  }

  drop(): void {
    this.made?.adamw.dispose()
    this.made = undefined
  }

  dispose(): void {
    this.drop()
    this.sums?.dispose()
  }
}

const wideCopy = ({ shape, device }: Tensor): Tensor => unscoped(() => zeros(shape, { dtype: 'float32', device }))
