/** Engine steps on the CPU: a recorded program over the operators in `native/{linear,attention,sampling}.cc`. */
import {
  type Columns,
  composeLayerOps,
  type DecoderParts,
  headWeight,
  joinColumns,
  LayerRopeTables,
  mixedRotations,
  type PlainOps,
  ropeColumns,
  runLayers,
} from '../../decoder/index.js'
import type { VisionFeatures } from '../../model/index.js'
import { type DType, noGrad, record, type Sym, scope, Tensor, unscoped } from '../../tensor/index.js'
import { cpuOps } from './cpu-ops.js'
import { KvCache } from './kv-cache.js'
import { Programs, type StepBatch, type StepDevice, type StepProgram, type StepResult } from './step.js'
import type { StepDeviceOptions } from './step-device.js'

interface CpuStepOptions extends StepDeviceOptions {
  dtype: DType
}

/** Inputs: ids, rope and KV positions, sequences and slots of rows; the block table; the inputs of sampling. */
const rowInputs = 6
const samplingInputs = 6

export class CpuStep implements StepDevice {
  private readonly tables: LayerRopeTables
  private readonly cache: KvCache
  private readonly programs = new Programs()

  constructor(
    private readonly parts: DecoderParts,
    private readonly options: CpuStepOptions,
    private readonly vision?: VisionFeatures | undefined,
  ) {
    this.tables = new LayerRopeTables(parts.config, options.maxLength, 'cpu')
    this.cache = new KvCache(parts.config, { ...options, device: 'cpu' })
  }

  get blocks(): number {
    return this.cache.blocks
  }

  allocate(cacheBytes: number): void {
    this.cache.allocate(cacheBytes)
  }

  release(): void {
    // Programs hold the cache they were recorded with.
    this.programs.dispose()
    this.cache.release()
  }

  dispose(): void {
    this.release()
    this.tables.dispose()
  }

  async step(batch: StepBatch): Promise<StepResult> {
    const { samplingRows, media } = batch
    const made: Tensor[] = []
    const upload = (array: Int32Array | Float64Array, shape: readonly number[]): Tensor => {
      const tensor = unscoped(() => Tensor.from(array, { shape }))
      made.push(tensor)
      return tensor
    }
    try {
      const flat = (array: Int32Array): Tensor => upload(array, [array.length])
      const inputs = [
        ...[
          batch.ids,
          media?.ropePositions ?? batch.ropePositions,
          batch.kvPositions,
          batch.sequences,
          batch.slotMapping,
        ].map(flat),
        upload(batch.blockTable, [batch.blockTable.length / batch.blockTableWidth, batch.blockTableWidth]),
      ]
      if (samplingRows.count > 0)
        inputs.push(
          flat(samplingRows.rows),
          upload(samplingRows.settings, [samplingRows.count, 4]),
          ...[
            samplingRows.streams,
            samplingRows.targetIds,
            samplingRows.forbiddenOffsets,
            samplingRows.forbiddenIds,
          ].map(flat),
        )
      if (media) {
        const rows = await this.vision!.rows(media.pixels, { gradients: false })
        made.push(...rows)
        const turns = Int32Array.from(batch.ids, (_, row) => row)
        inputs.push(...[ropeColumns(this.parts.config.vision!), turns, media.rows, media.features].map(flat), ...rows)
      }
      await this.cache.copyBlocks(batch)
      // A program without outputs returns nothing.
      const outputs =
        (await this.program(samplingRows.count > 0, media !== undefined).run(...inputs, samplingRows.top)) ?? []
      made.push(...outputs)
      return read(outputs)
    } finally {
      for (const tensor of made) tensor.dispose()
    }
  }

  private program(drawing: boolean, media: boolean): StepProgram {
    return this.programs.get(`${drawing} ${media}`, () => this.record(drawing, media))
  }

  private record(drawing: boolean, media: boolean): StepProgram {
    const { parts, cache, tables } = this
    const scale = 1 / Math.sqrt(parts.config.headDim)
    // Outside the recording, so that a layer's view is made once.
    const layers = cache.layerViews()
    const drawn = drawing ? samplingInputs : 0
    // Columns of rotations, the row of each row's rotation, placeholders, their rows of the tower, and the tower's tensors.
    const shown = media ? 5 + parts.config.vision!.deepstack.length : 0
    const kinds = [
      ...Array.from({ length: rowInputs + drawn + shown }, () => 'tensor' as const),
      'number' as const,
    ] as readonly ('tensor' | 'number')[]
    try {
      return record(kinds, (...all) => {
        const inputs = [...all]
        const [columns, turns, at, from, ...tower] = inputs.splice(rowInputs + drawn, shown) as Tensor[]
        const [ids, ropePositions, kvPositions, sequences, slotMapping, blockTable, wanted, ...sampling] = inputs.slice(
          0,
          -1,
        ) as unknown as [Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, ...Tensor[]]
        // Rows with three positions have rotations of their own, one for each row.
        const mixed = (table: Tensor): Tensor => mixedRotations(table, ropePositions, columns!)
        const { cos, sin } = tables.of(0)
        const own = media ? { cos: mixed(cos), sin: mixed(sin) } : undefined
        const store = (qkv: Columns, layer: number): Tensor =>
          cpuOps.rotateStore(joinColumns(qkv), own ?? tables.of(layer), {
            ...{ positions: turns ?? ropePositions, slotMapping, cache: layers[layer]! },
          })
        const [features, ...deep] = tower.map(tensor => tensor.indexSelect(0, from!))
        const mediaRows = features && { at: at!.toCopy({ dtype: 'int64' }), features, deep }
        const ops: PlainOps = {
          ...cpuOps,
          store,
          attend: (qkv, layer) =>
            cpuOps.pagedAttention(store(qkv, layer), {
              ...{ cache: layers[layer]!, blockTable, sequences, positions: kvPositions, scale },
            }),
        }
        return noGrad(() => {
          const hidden = runLayers(parts, composeLayerOps(parts.config, ops), ids, wanted ?? 'none', mediaRows)
          if (!hidden) return []
          let logits = cpuOps.linear(hidden, headWeight(parts), null)
          if (this.options.dtype !== 'float32') logits = logits.toCopy({ dtype: 'float32' })
          const [settings, streams, targetIds, forbiddenOffsets, forbiddenIds] = sampling as [
            Tensor,
            Tensor,
            Tensor,
            Tensor,
            Tensor,
          ]
          const rows = { settings, streams, targetIds, forbiddenOffsets, forbiddenIds }
          return cpuOps.sample(logits, rows, inputs.at(-1) as Sym)
        })
      }) as unknown as StepProgram
    } finally {
      for (const layer of layers) layer.dispose()
    }
  }
}

const nothing: StepResult = {
  ids: new Int32Array(0),
  raw: new Float32Array(0),
  processed: new Float32Array(0),
  topIds: new Int32Array(0),
  topLogprobs: new Float32Array(0),
}

function read(outputs: readonly Tensor[]): StepResult {
  if (outputs.length === 0) return nothing
  return scope(() => {
    const [ids, logprobs, topIds, topLogprobs] = outputs as readonly [Tensor, Tensor, Tensor, Tensor]
    const both = logprobs.toArray<'float32'>()
    const count = both.length / 2
    return {
      ids: ids.toArray<'int32'>(),
      raw: both.subarray(0, count),
      processed: both.subarray(count),
      topIds: topIds.toArray<'int32'>(),
      topLogprobs: topLogprobs.toArray<'float32'>(),
    }
  })
}
