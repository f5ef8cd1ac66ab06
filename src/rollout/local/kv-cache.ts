/** The memory of the KV cache, the same on every device: allocated, released, and its blocks copied. */
import type { DecoderConfig } from '../../decoder/index.js'
import { type Device, type DType, noGrad, record, Tensor, unscoped } from '../../tensor/index.js'
import { blockSize } from './blocks.js'
import { kvBlocks } from './kv-budget.js'
import type { StepBatch, StepProgram } from './step.js'

interface KvCacheOptions {
  device: Device
  dtype: DType
  /** Most concurrent sequences and most tokens of one: the cache is not larger than they can fill. */
  maxSequences: number
  maxLength: number
}

export class KvCache {
  /** `[layers * 2, blocks, kvHeads, 16 * headDim]`: keys and values of a layer follow each other. */
  private memory: Tensor | undefined
  /** Holds the memory it was recorded with. */
  private copies: StepProgram | undefined

  constructor(
    private readonly config: Pick<DecoderConfig, 'layers' | 'kvHeads' | 'headDim'>,
    private readonly options: KvCacheOptions,
  ) {}

  /** 0 while it is released. */
  get blocks(): number {
    return this.memory?.shape[1] ?? 0
  }

  allocate(cacheBytes: number): void {
    const { layers, kvHeads, headDim } = this.config
    const { dtype, device } = this.options
    const blocks = kvBlocks(this.config, { ...this.options, cacheBytes })
    this.memory ??= unscoped(() => Tensor.empty([layers * 2, blocks, kvHeads, blockSize * headDim], { dtype, device }))
  }

  /** A view of each layer's keys and values, `[2, blocks, kvHeads, 16 * headDim]`. The caller disposes them. */
  layerViews(): Tensor[] {
    const { memory } = this
    if (!memory) throw new Error('the KV cache is released; wake the engine first')
    return Array.from({ length: this.config.layers }, (_, i) => unscoped(() => memory.narrow(0, 2 * i, 2)))
  }

  /** Copies a batch's blocks, on the current stream. */
  async copyBlocks({ copyFrom, copyTo }: Pick<StepBatch, 'copyFrom' | 'copyTo'>): Promise<void> {
    if (copyFrom.length === 0) return
    const memory = this.memory!
    this.copies ??= record(['tensor', 'tensor'] as readonly ('tensor' | 'number')[], (...inputs) => {
      const [from, to] = inputs as unknown as [Tensor, Tensor]
      noGrad(() => memory.indexCopy_(1, to.toCopy({ dtype: 'int64' }), memory.indexSelect(1, from)))
      return [] as readonly Tensor[]
    }) as unknown as StepProgram
    const { device } = this.options
    const pair = [copyFrom, copyTo].map(blocks => unscoped(() => Tensor.from(blocks, { device })))
    try {
      await this.copies.run(...pair)
    } finally {
      for (const tensor of pair) tensor.dispose()
    }
  }

  release(): void {
    this.copies?.dispose()
    this.copies = undefined
    this.memory?.dispose()
    this.memory = undefined
  }
}
