/**
 * The weights of a model with its adapter added in, as copies of their own: an engine samples from these as fast as from a
 * model without an adapter, while the model itself is scored and trained with the adapter beside its weights.
 */
import { type DecoderParts, type LowRank, projectionOf, type Weight, weightMap } from '../decoder/index.js'
import { type Tensor, unscoped } from '../tensor/index.js'
import { once } from './weights.js'

/** Where an adapter's products belong: row ranges of the weights. */
function adapterProducts(
  weights: readonly Weight[],
  adapter: NonNullable<DecoderParts['adapter']>,
): { name: string; start: number; low: LowRank }[] {
  return weights.flatMap(({ name, parts }) => {
    let next = 0
    return parts.flatMap(part => {
      const start = next
      next += part.rows
      const place = projectionOf(part.name)
      const low = place && adapter(place.layer, place.projection)
      return low ? [{ name, start, low }] : []
    })
  })
}

export class MergedWeights {
  /** To sample from; of a model without an adapter its own. */
  readonly parts: DecoderParts
  private readonly weights: Map<string, Tensor>
  private readonly map: readonly Weight[]
  /** The weights that an adapter changes. */
  private readonly names: readonly string[]
  private taken = false
  /** Added in instead of the model's own. */
  private exchanged: DecoderParts['adapter'] | undefined

  /** `exchangeable`: the model has no adapter of its own, and any may come and go; there are copies of all it could change. */
  constructor(
    private readonly model: DecoderParts,
    { adapter: kind }: { adapter: 'own' | 'exchangeable' } = { adapter: 'own' },
  ) {
    const { config, ops, deferred, adapter, storageGeneration } = model
    this.weights = new Map(model.weights)
    this.map = weightMap(config, 'language')
    this.names =
      kind === 'exchangeable'
        ? this.map
            .filter(({ name, kind }) => kind === 'matrix' && name.startsWith('model.layers.'))
            .map(({ name }) => name)
        : adapter
          ? [...new Set(adapterProducts(this.map, adapter).map(({ name }) => name))]
          : []
    this.parts =
      this.names.length > 0
        ? { config, ops, deferred, weights: this.weights, ...(storageGeneration && { storageGeneration }) }
        : model
  }

  /** Which adapter the copies have with the next `refresh`; undefined: none. */
  exchange(adapter: DecoderParts['adapter'] | undefined): void {
    this.exchanged = adapter
  }

  /** Takes the memory of the copies; their numbers come with `refresh`. */
  take(): void {
    if (this.taken) return
    this.taken = true
    for (const name of this.names) {
      const original = this.model.weights.get(name)!
      this.weights.set(
        name,
        unscoped(() => original.newEmpty([...original.shape])),
      )
    }
  }

  /** Makes the copies what the model and its adapter are now, where they lie: programs and graphs stay right. */
  async refresh(): Promise<void> {
    if (this.names.length === 0) return
    const adapter = this.exchanged ?? this.model.adapter
    // An adapter that was permanently merged into the model is part of what is copied.
    const products = adapter ? adapterProducts(this.map, adapter) : []
    await once(() => {
      for (const name of this.names) this.weights.get(name)!.copy_(this.model.weights.get(name)!)
      for (const { name, start, low } of products)
        this.weights.get(name)!.narrow(0, start, low.b.shape[0]!).add_(low.b.matmul(low.a), { alpha: low.scale })
    })
  }

  release(): void {
    if (!this.taken) return
    this.taken = false
    for (const name of this.names) {
      this.weights.get(name)!.dispose()
      this.weights.set(name, this.model.weights.get(name)!)
    }
  }
}
