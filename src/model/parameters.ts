/**
 * The weights of a model while it is used: with their adapter beside them or merged in, on their device or away from it,
 * and which version of a policy they are. The tensors stay the same objects all along, so recorded programs may capture them.
 */
import { createHash } from 'node:crypto'

import {
  checkpointViews,
  type DecoderConfig,
  type DecoderParts,
  isMergerWeight,
  isVisionWeight,
  type LowRank,
  projectionOf,
  type Weight,
  weightMap,
} from '../decoder/index.js'
import { deferredOpsFor, fusedOps } from '../kernels/index.js'
import { type Device, dtypeBytes, scope, stack, type Tensor } from '../tensor/index.js'
import type { Adapter } from './adapter.js'
import { ModelError } from './errors.js'
import { headOf, type ModelParts, type Settings, trains } from './loading.js'
import type { PolicyVersion } from './token-model.js'
import { once } from './weights.js'

export class Parameters {
  readonly weightMap: readonly Weight[]
  /** By the weight map's names. */
  readonly tensors: ReadonlyMap<string, Tensor>
  readonly adapter: Adapter | undefined
  readonly parts: DecoderParts
  /** Optimiser steps that made them. */
  version: PolicyVersion
  /** Differs whenever a number does: what was computed with another revision is computed again. */
  revision = 0
  /** Differs whenever a number does that no step changes. */
  frozenRevision = 0
  /** What of a vision tower is trained. */
  readonly trainedVision: { blocks: boolean; mergers: boolean }
  private readonly device: Device
  private adapterMerged = false
  private away = false
  /** Why the weights must not be used, if so. */
  private torn: string | undefined
  private fingerprint: string | undefined
  private generation = 0

  constructor({ role, config, tensors, adapter, settings, version }: ModelParts) {
    this.version = version
    this.weightMap = weightMap(config.decoder, headOf(role))
    this.tensors = tensors
    this.adapter = adapter
    this.device = settings.device
    const lookup: DecoderParts['adapter'] = adapter && ((layer, projection) => adapter.lowRank(layer, projection))
    const isMerged = (): boolean => this.merged
    this.parts = {
      config: config.decoder,
      weights: tensors,
      ops: fusedOps(settings),
      deferred: deferredOf(config.decoder, settings),
      // Once it is part of the weights it must not be added again.
      get adapter() {
        return isMerged() ? undefined : lookup
      },
      gradientCheckpointing: settings.gradientCheckpointing,
      storageGeneration: () => this.generation,
    }
    for (const [name, tensor] of tensors) tensor.requiresGrad = trains(name, role, adapter, settings)
    if (adapter) for (const tensor of adapter.tensors().values()) tensor.requiresGrad = true
    const trained = [...this.trained().keys()].filter(isVisionWeight)
    this.trainedVision = { blocks: !trained.every(isMergerWeight), mergers: trained.some(isMergerWeight) }
  }

  get merged(): boolean {
    return this.adapterMerged
  }

  get offloaded(): boolean {
    return this.away
  }

  /** Whatever works with weights works with them where they are computed with. */
  refuseOffloaded(): void {
    if (this.away) throw new ModelError('the weights are offloaded; call reload() first')
  }

  /** Weights that are elsewhere, or half another training's, are not computed with. */
  refuseUnusable(): void {
    this.refuseOffloaded()
    if (this.torn) throw new ModelError(this.torn)
  }

  /** Why the numbers must not be computed with: a change of them failed part-way. */
  get broken(): string | undefined {
    return this.torn
  }

  /** Changes the numbers in several steps: where one fails, the others have been made. */
  async rewrite(work: () => Promise<void>, failure: string): Promise<void> {
    this.beginRewrite(failure)
    await work()
    this.endRewrite()
  }

  /** From here on the numbers are a mix, until the end. */
  beginRewrite(failure: string): void {
    this.revision++
    this.frozenRevision++
    this.fingerprint = undefined
    this.torn = failure
  }

  endRewrite(): void {
    this.torn = undefined
  }

  /** What is trained: the adapter's matrices by PEFT's names, weights by the weight map's. */
  trained(): Map<string, Tensor> {
    return new Map([
      ...(this.adapter?.tensors() ?? []),
      ...[...this.tensors].filter(([, tensor]) => tensor.requiresGrad),
    ])
  }

  /** The accumulated gradients by the checkpoint's names. The caller disposes them. */
  gradients(): Map<string, Tensor> {
    const found = new Map<string, Tensor>()
    for (const [name, tensor] of this.adapter?.tensors() ?? []) {
      const gradient = tensor.grad
      if (gradient) found.set(name, gradient)
    }
    for (const weight of this.weightMap) {
      const gradient = this.tensors.get(weight.name)!.grad
      if (!gradient) continue
      for (const [name, view] of checkpointViews([weight], new Map([[weight.name, gradient]]))) found.set(name, view)
      gradient.dispose()
    }
    return found
  }

  /** Permanently adds the adapter to the weights. The policy is the same; its numbers differ by rounding. */
  async mergeAdapter(): Promise<void> {
    if (!this.adapter) throw new ModelError('this model has no adapter')
    this.refuseUnusable()
    if (this.merged) return
    const adapted = this.adapted()
    await once(() => {
      for (const [name, view] of checkpointViews(this.weightMap, this.tensors)) {
        const low = adapted.get(name)
        if (low) view.add_(low.b.matmul(low.a), { alpha: low.scale })
      }
    })
    this.adapterMerged = true
    this.fingerprint = undefined
    this.revision++
  }

  /** What the adapter adds, by the checkpoint's name of the weight it adds to. */
  adapted(): Map<string, LowRank> {
    const { adapter, merged } = this
    const found = new Map<string, LowRank>()
    if (!adapter || merged) return found
    for (const { name } of this.weightMap.flatMap(({ parts }) => parts)) {
      const place = projectionOf(name)
      const low = place && adapter.lowRank(place.layer, place.projection)
      if (low) found.set(name, low)
    }
    return found
  }

  /** Tells weights apart that are not trained: equal for equal bits, found in one pass over them. */
  async frozenFingerprint(): Promise<string | null> {
    const frozen = [...this.tensors.values()].filter(tensor => !tensor.requiresGrad)
    if (frozen.length === 0) return null
    this.fingerprint ??= await fingerprintOf(frozen)
    return this.fingerprint
  }

  /** Tells all numbers apart, those of the adapter too. */
  allFingerprint(): Promise<string> {
    return fingerprintOf([...this.tensors.values(), ...(this.adapter?.tensors().values() ?? [])])
  }

  /** Takes over others' numbers, and their adapter's where both have one. */
  async copyFrom(other: Parameters): Promise<void> {
    this.refuseUnusable()
    other.refuseUnusable()
    if (this.merged || other.merged)
      throw new ModelError('an adapter is merged into the weights, so they differ from the weights it was trained with')
    const theirs = new Map([...other.tensors, ...(other.adapter?.tensors() ?? [])])
    const mine = [...this.tensors, ...(this.adapter && other.adapter ? this.adapter.tensors() : [])]
    for (const [name, { shape }] of mine) {
      const found = theirs.get(name)?.shape
      if (!found) throw new ModelError(`the other model has no ${name}`)
      if (found.join() !== shape.join())
        throw new ModelError(`the other model's ${name} is [${found.join(', ')}], this one's [${shape.join(', ')}]`)
    }
    await once(() => {
      for (const [name, tensor] of mine) tensor.copy_(theirs.get(name)!)
    })
    this.version = other.version
    this.fingerprint = undefined
    this.revision++
    this.frozenRevision++
  }

  /** Moves what is trained towards another's numbers, its masters where it has some: `decay` of one's own and the rest of theirs. */
  async average(other: Parameters, masters: ReadonlyMap<string, Tensor>, decay: number): Promise<void> {
    this.refuseUnusable()
    other.refuseUnusable()
    const theirs = new Map([...other.trained(), ...masters])
    await this.rewrite(
      () =>
        once(() => {
          for (const [name, tensor] of this.trained()) {
            const found = theirs.get(name)
            if (!found) throw new ModelError(`the other model does not train ${name}`)
            tensor.mul_(decay).add_(found.to(undefined, tensor.dtype), { alpha: 1 - decay })
          }
        }).then(() => {}),
      'average() failed part-way, and the weights are now a mix; load a state again',
    )
    this.version = other.version
  }

  /** Moves weights, adapter, gradients and the tensors of `others` to CPU memory. */
  async offload(others: Iterable<Tensor>): Promise<void> {
    this.away = true
    await this.move('cpu', others)
  }

  async reload(others: Iterable<Tensor>): Promise<void> {
    await this.move(this.device, others)
    this.away = false
  }

  private async move(device: Device, others: Iterable<Tensor>): Promise<void> {
    // Weights of the CPU are where they would go.
    if (this.device === 'cpu') return
    this.generation++
    const own = [...this.tensors.values(), ...(this.adapter?.tensors().values() ?? [])]
    const graded = new Set(own.filter(tensor => scope(() => tensor.grad !== undefined)))
    await once(() => {
      // The tensors stay the ones the programs captured; only their memory changes.
      for (const tensor of [...own, ...others]) {
        const gradient = graded.has(tensor) ? tensor.grad : undefined
        tensor.setData(tensor.detach().toCopy({ device }))
        if (gradient) tensor.grad = gradient.toCopy({ device })
      }
    })
  }

  /** Drops accumulated gradients. */
  zeroGrad(): void {
    for (const tensor of this.trained().values()) tensor.grad = undefined
  }

  dispose(): void {
    this.adapter?.dispose()
    for (const tensor of this.tensors.values()) tensor.dispose()
  }
}

/** Equal for equal bits: one sum over the bits of each tensor, on its device. */
async function fingerprintOf(tensors: readonly Tensor[]): Promise<string> {
  const bits = { 2: 'int16', 4: 'int32', 8: 'int64' } as const
  const [sums] = await once(() => [
    stack(
      tensors.map(tensor =>
        tensor.viewDtype({ dtype: bits[dtypeBytes(tensor.dtype) as 2 | 4 | 8] }).sum(undefined, { dtype: 'int64' }),
      ),
    ),
  ])
  const values = await sums!.data<'int64'>()
  sums!.dispose()
  return createHash('sha256').update(values.join()).digest('hex').slice(0, 16)
}

/** The layers over a float32 stream, where one is wanted beside weights that are not float32 themselves. */
function deferredOf(config: DecoderConfig, { device, dtype, residualDtype }: Settings): DecoderParts['deferred'] {
  if (residualDtype === 'weights' || dtype === 'float32' || dtype === 'float64') return undefined
  const found = deferredOpsFor(config, { device, dtype })
  if (!found)
    throw new ModelError(
      `residualDtype float32 beside ${dtype} weights on ${device}: supported only for bfloat16 on Hopper GPUs, and for families with norms before attention and MLP. Remove it, or load the model in float32.`,
    )
  return found
}
