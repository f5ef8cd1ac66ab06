/**
 * The weights of a model while it is used: with their adapter beside them or merged in, on their device or away from it,
 * and which version of a policy they are. The tensors stay the same objects all along, so recorded programs may capture them.
 */

import { checkpointViews, type DecoderParts, type Weight, weightMap } from '../decoder/index.js'
import { fusedOps } from '../kernels/index.js'
import type { Device, Tensor } from '../tensor/index.js'
import type { Adapter } from './adapter.js'
import { ModelError } from './errors.js'
import { headOf, type ModelParts, trains } from './loading.js'
import { adapterProducts } from './merged-weights.js'
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
  private readonly device: Device
  private adapterMerged = false
  private away = false
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
      // Once it is part of the weights it must not be added again.
      get adapter() {
        return isMerged() ? undefined : lookup
      },
      gradientCheckpointing: settings.gradientCheckpointing,
      storageGeneration: () => this.generation,
    }
    for (const [name, tensor] of tensors) tensor.requiresGrad = trains(name, role, adapter, settings)
    if (adapter) for (const tensor of adapter.tensors().values()) tensor.requiresGrad = true
  }

  get merged(): boolean {
    return this.adapterMerged
  }

  get offloaded(): boolean {
    return this.away
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

  /** Adds the adapter into the weights, for good. The policy is the same; its numbers differ by rounding. */
  async mergeAdapter(): Promise<void> {
    if (!this.adapter) throw new ModelError('this model has no adapter')
    if (this.merged) return
    const products = adapterProducts(this.weightMap, this.parts.adapter!)
    await once(() => {
      for (const { name, start, low } of products)
        this.tensors.get(name)!.narrow(0, start, low.b.shape[0]!).add_(low.b.matmul(low.a), { alpha: low.scale })
    })
    this.adapterMerged = true
    this.revision++
  }

  /** Takes over others' numbers, and their adapter's where both have one. */
  async copyFrom(other: Parameters): Promise<void> {
    if (this.merged || other.merged)
      throw new ModelError('an adapter is merged into the weights, which are no longer those it was trained with')
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
    this.revision++
  }

  async offload(): Promise<void> {
    this.away = true
    await this.move('cpu')
  }

  async reload(): Promise<void> {
    await this.move(this.device)
    this.away = false
  }

  private async move(device: Device): Promise<void> {
    this.generation++
    await once(() => {
      // The tensors stay the ones the programs captured; only their memory changes.
      for (const tensor of this.tensors.values()) tensor.setData(tensor.detach().toCopy({ device }))
    })
  }

  dispose(): void {
    this.adapter?.dispose()
    for (const tensor of this.tensors.values()) tensor.dispose()
  }
}
