/**
 * Engine steps on a CUDA device, in bfloat16 or float16. Decode steps run as CUDA graphs, several in a row: each writes the input of the
 * next one, so that the host reads tokens only every few steps. Steps with few prompt rows are graphs too, because launching their kernels
 * takes longer than computing them. Steps with many prompt rows are programs.
 *
 * Seeds work as on the CPU: the same random number for the same key and position, and the same sampling. Logits differ in their last bits
 * from the CPU's, and between numbers of rows, because the order of summation depends on it. So a sample may, rarely, differ between
 * batches.
 */

import { type DecoderParts, LayerRopeTables, mixedRotations, ropeColumns } from '../../decoder/index.js'
import { type HalfDType, type PagedCache, samplePlanes } from '../../kernels/index.js'
import type { VisionFeatures } from '../../model/index.js'
import {
  type Device,
  dtypeBytes,
  noGrad,
  record,
  Stream,
  type Sym,
  scope,
  synchronize,
  Tensor,
  unscoped,
} from '../../tensor/index.js'
import { blockSize, blocksOfSequence } from './blocks.js'
import { CudaOps, type Memory } from './cuda-ops.js'
import {
  bucketFor,
  type DecodeLayout,
  decodeLayout,
  decodeWords,
  emptyDecodeInputs,
  fillDecodeInputs,
} from './decode-graph-inputs.js'
import { hasFilters, packArrays } from './graph-inputs.js'
import { KvCache } from './kv-cache.js'
import {
  emptyMixed,
  fillMixed,
  type MixedLayout,
  type MixedLimits,
  mixedLayoutFor,
  mixedWords,
} from './mixed-graph-inputs.js'
import { prefillRows } from './prefill-rows.js'
import {
  type MultiStepDecode,
  Programs,
  type StepBatch,
  type StepDevice,
  type StepProgram,
  type StepResult,
} from './step.js'
import { type StepGraph, StepGraphs } from './step-graphs.js'

interface CudaStepOptions {
  device: Device
  dtype: HalfDType
  /** Most concurrent sequences and most tokens of one: the cache is not larger than they can fill. */
  maxSequences: number
  maxLength: number
}

/** Steps whose results are read together, and the stream that waits for them. */
interface Piece {
  number: number
  first: number
  count: number
  stream: Stream
}

/**
 * Up to these limits a step is faster as a graph: rows times weights of a layer, and bytes of keys and values that prompt rows read in a
 * layer. An H200 computes about as much while the kernels of a layer are launched.
 */
const launchedWork = 1e11
const launchedBytes = 2 ** 28

/** Numbers of the likeliest tokens that graphs exist for; -1: no ranks either. */
const tops = [-1, 0, 5, 20] as const
const topFor = (wanted: number): number => tops.find(top => top >= wanted)!

/** Layout of results: `[steps, planes, rows]`. The first `drawn` rows belong to samples; the rest is padding. */
interface Found {
  first: number
  count: number
  rows: number
  drawn: number
  top: number
}

export class CudaStep implements StepDevice {
  readonly multiStep = { steps: 256, syncInterval: 8, top: tops.at(-1)! }
  private readonly ops: CudaOps
  private readonly tables: LayerRopeTables
  private readonly cache: KvCache
  private readonly layers: PagedCache[] = []
  /** Multi-step decoding has its own stream; two others read its results in turns meanwhile. */
  private readonly decodes: Stream
  private readonly reads: readonly [Stream, Stream]
  private readonly programs = new Programs()
  private readonly graphs: StepGraphs
  private readonly mixedLimits: MixedLimits

  constructor(
    private readonly parts: DecoderParts,
    private readonly options: CudaStepOptions,
    private readonly vision?: VisionFeatures | undefined,
  ) {
    const { config } = parts
    const { device, dtype, maxSequences, maxLength } = options
    this.ops = new CudaOps(parts, dtype)
    this.tables = new LayerRopeTables(config, maxLength, device)
    this.cache = new KvCache(config, options)
    const rows = bucketFor(maxSequences)
    const { hidden, intermediate, heads, kvHeads, headDim } = config
    const layerWeights = hidden * (3 * intermediate + 2 * (heads + kvHeads) * headDim)
    this.mixedLimits = {
      rows: Math.floor(launchedWork / layerWeights),
      samplingRows: rows,
      keys: Math.floor(launchedBytes / (2 * kvHeads * headDim * dtypeBytes(dtype))),
      top: this.multiStep.top,
    }
    // Running sequences, and prompts of waiting ones.
    const blockTableWords = 2 * rows * blocksOfSequence(maxLength)
    this.graphs = new StepGraphs({
      device,
      state: Math.max(decodeWords(decodeLayout(rows), blockTableWords), mixedWords(this.mixedLimits, blockTableWords)),
      results: this.multiStep.steps * samplePlanes(-1) * rows,
      storageGeneration: () => parts.storageGeneration?.() ?? 0,
    })
    this.decodes = new Stream(device)
    this.reads = [new Stream(device), new Stream(device)]
  }

  get blocks(): number {
    return this.cache.blocks
  }

  allocate(cacheBytes: number): void {
    if (this.blocks > 0) return
    this.cache.allocate(cacheBytes)
    const { headDim } = this.parts.config
    for (const layer of this.cache.layerViews()) {
      const part = (i: number): Tensor =>
        unscoped(() => scope(() => layer.select(0, i).unflatten(2, [blockSize, headDim])))
      this.layers.push({ keys: part(0), values: part(1) })
      layer.dispose()
    }
  }

  release(): void {
    this.graphs.release()
    this.programs.dispose()
    for (const { keys, values } of this.layers.splice(0)) {
      keys.dispose()
      values.dispose()
    }
    this.cache.release()
  }

  dispose(): void {
    this.release()
    this.tables.dispose()
  }

  // ---- steps of next tokens

  async *decodeMultiStep(
    batch: StepBatch,
    { budgets, steps, syncInterval }: MultiStepDecode,
  ): AsyncGenerator<StepResult, undefined, 'more' | 'enough'> {
    const { samplingRows } = batch
    const layout = decodeLayout(bucketFor(samplingRows.count))
    const state = fillDecodeInputs(layout, batch, budgets)
    const { rows } = layout
    const top = topFor(samplingRows.top)
    const most = Math.min(steps, Math.floor(this.graphs.results.numel / (samplePlanes(top) * rows)))
    // Waits until the input is copied; the stream orders the copies of blocks.
    const graph = await this.graphs.ready(this.decodeGraph(layout, batch), state, samplingRows.forbiddenIds)
    await this.decodes.use(() => this.cache.copyBlocks(batch))
    const launch = (number: number): Piece | undefined => {
      const first = number * syncInterval
      const count = Math.min(syncInterval, most - first)
      if (count <= 0) return undefined
      this.decodes.use(() => {
        for (let i = 0; i < count; i++) graph.replay()
      })
      // In turns: a stream that waits for later steps cannot read these.
      const stream = this.reads[number % 2]!
      stream.waitFor(this.decodes)
      return { number, first, count, stream }
    }
    let under: Piece | undefined = launch(0)
    let more = true
    try {
      while (under) {
        const next: Piece | undefined = more ? launch(under.number + 1) : undefined
        const { first, count, stream }: Piece = under
        const result = await stream.use(() => this.readResults({ first, count, rows, drawn: samplingRows.count, top }))
        under = next
        more = (yield result) === 'more'
      }
    } finally {
      // A caller that leaves early must not reuse blocks that are still being written.
      if (under) await synchronize(this.options.device)
    }
    return undefined
  }

  private async readResults(which: Found): Promise<StepResult> {
    const words = samplePlanes(which.top) * which.rows
    const found = unscoped(() => this.graphs.results.narrow(0, which.first * words, which.count * words))
    try {
      return unpack(await found.data<'int32'>(), which)
    } finally {
      found.dispose()
    }
  }

  private decodeGraph(layout: DecodeLayout, batch: StepBatch): StepGraph {
    const { rows: count } = layout
    const filtered = hasFilters(batch.samplingRows)
    const top = topFor(batch.samplingRows.top)
    const plan = this.ops.planAttention(count, batch.blockTableWidth * blockSize)
    return {
      key: ['decode', count, filtered, top, plan.splits, plan.warps].join(' '),
      empty: emptyDecodeInputs(layout),
      record: ({ part, rest, samplingRows, results }) => {
        const [ids, positions] = [part(layout.ids), part(layout.positions)]
        const rows = {
          count,
          positions,
          sequences: null,
          blockTable: rest(layout.blockTable),
          width: part(layout.width),
        }
        const hidden = this.ops.decode(ids, { ...this.memory, plan, rows })
        const steps = { ids, budgets: part(layout.budgets), left: part(layout.left) }
        this.ops.sampleFrom(hidden, samplingRows(count, positions, layout), results, { filtered, steps, top })
      },
    }
  }

  private get memory(): Memory {
    if (this.blocks === 0) throw new Error('the KV cache is released; wake the engine first')
    const { layers, tables } = this
    return { layers, tables }
  }

  // ---- any steps

  step(batch: StepBatch): Promise<StepResult> {
    // The rows of a tower are different tensors at each step, which a graph cannot read.
    const layout = batch.media ? undefined : mixedLayoutFor(batch, this.mixedLimits)
    return layout ? this.stepByGraph(layout, batch) : this.stepByProgram(batch)
  }

  private async stepByGraph(layout: MixedLayout, batch: StepBatch): Promise<StepResult> {
    const { samplingRows } = batch
    const graph = await this.graphs.ready(
      this.mixedGraph(layout, batch),
      fillMixed(layout, batch),
      samplingRows.forbiddenIds,
    )
    await this.cache.copyBlocks(batch)
    graph.replay()
    const found = {
      first: 0,
      count: 1,
      rows: layout.samplingRows,
      drawn: samplingRows.count,
      top: topFor(samplingRows.top),
    }
    if (samplingRows.count > 0) return this.readResults(found)
    // The next step may use another stream.
    await synchronize(this.options.device)
    return unpack(new Int32Array(0), { ...found, count: 0 })
  }

  private mixedGraph(layout: MixedLayout, batch: StepBatch): StepGraph {
    const filtered = hasFilters(batch.samplingRows)
    const top = topFor(batch.samplingRows.top)
    return {
      key: ['mixed', layout.rows, layout.samplingRows, filtered, top].join(' '),
      empty: emptyMixed(layout),
      record: ({ part, rest, samplingRows, results }) => {
        const rows = {
          count: layout.rows,
          positions: part(layout.kvPositions),
          sequences: part(layout.sequences),
          blockTable: rest(layout.blockTable),
          width: part(layout.width),
        }
        const hidden = this.ops.prefill(part(layout.ids), layout.samplingRows > 0 ? part(layout.wanted) : undefined, {
          ...this.memory,
          slotMapping: part(layout.slotMapping),
          all: { ...rows, positions: part(layout.ropePositions) },
          fresh: undefined,
          paged: rows,
          many: this.ops.isMany(layout.rows),
        })
        if (!hidden) return
        const drawn = samplingRows(layout.samplingRows, part(layout.samplingPositions), layout)
        this.ops.sampleFrom(hidden, drawn, results, { filtered, steps: undefined, top })
      },
    }
  }

  private async stepByProgram(batch: StepBatch): Promise<StepResult> {
    const { samplingRows } = batch
    const rows = prefillRows(batch)
    const { paged, media } = rows
    const ropePositions = media?.ropePositions ?? rows.ropePositions
    const arrays: (Int32Array | Float32Array)[] = [rows.ids, ropePositions, rows.slotMapping, rows.cuSeqlens]
    arrays.push(paged.kvPositions, paged.sequences, batch.blockTable, Int32Array.of(batch.blockTableWidth))
    if (samplingRows.count > 0) {
      const keys = Int32Array.from(
        { length: 2 * samplingRows.count },
        (_, i) => samplingRows.streams[(i >> 1) * 3 + (i & 1)]!,
      )
      const counters = Int32Array.from({ length: samplingRows.count }, (_, i) => samplingRows.streams[3 * i + 2]!)
      arrays.push(rows.wanted, counters, Float32Array.from(samplingRows.settings), keys)
      arrays.push(samplingRows.targetIds, samplingRows.forbiddenOffsets, samplingRows.forbiddenIds)
    }
    if (media) {
      const turns = Int32Array.from(rows.ids, (_, row) => row)
      arrays.push(ropeColumns(this.parts.config.vision!), turns, media.rows, media.features)
    }
    const made: Tensor[] = []
    try {
      const tower = media ? await this.vision!.rows(media.pixels, { gradients: false }) : []
      made.push(...tower)
      await this.cache.copyBlocks(batch)
      const inputs = [...uploadTogether(arrays, this.options.device, made), ...tower]
      const program = this.program(batch, {
        fresh: rows.longest > 0,
        paged: rows.paged.kvPositions.length > 0,
        many: this.ops.isMany(rows.ids.length),
        media: media !== undefined,
      })
      const fresh = rows.cuSeqlens.at(-1)!
      const numbers = [rows.ids.length, fresh, rows.ids.length - fresh, Math.max(1, rows.longest), samplingRows.count]
      const [found] = (await program.run(...inputs, ...numbers)) ?? []
      const where = {
        first: 0,
        count: found ? 1 : 0,
        rows: samplingRows.count,
        drawn: samplingRows.count,
        top: samplingRows.top,
      }
      if (found) {
        made.push(found)
        return unpack(await found.data<'int32'>(), where)
      }
      // The next step may use another stream.
      await synchronize(this.options.device)
      return unpack(new Int32Array(0), where)
    } finally {
      for (const tensor of made) tensor.dispose()
    }
  }

  private program(
    { samplingRows }: StepBatch,
    { fresh, paged, many, media }: { fresh: boolean; paged: boolean; many: boolean; media: boolean },
  ): StepProgram {
    const { memory } = this
    const drawing = samplingRows.count > 0
    const filtered = hasFilters(samplingRows)
    const key = [fresh, paged, many, media, drawing, filtered, samplingRows.top].join(' ')
    const plain = drawing ? 15 : 8
    const shown = media ? 5 + this.parts.config.vision!.deepstack.length : 0
    return this.programs.get(key, () => {
      const kinds = [
        ...Array.from({ length: plain + shown }, () => 'tensor' as const),
        ...Array.from({ length: 5 }, () => 'number' as const),
      ] as readonly ('tensor' | 'number')[]
      return record(kinds, (...inputs) => {
        const [count, freshCount, pagedCount, longest, samplingCount] = inputs.slice(-5) as unknown as Sym[]
        const [
          ids,
          ropePositions,
          slotMapping,
          cuSeqlens,
          pagedPositions,
          sequences,
          blockTable,
          width,
          wanted,
          ...sampling
        ] = inputs.slice(0, plain) as unknown as Tensor[]
        const [columns, turns, at, from, ...tower] = inputs.slice(plain, plain + shown) as unknown as Tensor[]
        return noGrad(() => {
          // Rows with three positions have rotations of their own, one for each row.
          const mixed = (table: Tensor): Tensor => mixedRotations(table, ropePositions!, columns!)
          const { cos, sin } = memory.tables.of(0)
          const own = media ? { cos: mixed(cos), sin: mixed(sin) } : undefined
          const [features, ...deep] = tower.map(tensor => tensor.indexSelect(0, from!))
          const positions = turns ?? ropePositions!
          const hidden = this.ops.prefill(ids!, wanted, {
            ...memory,
            ...(own && { tables: { of: () => own } }),
            ...(features && { media: { at: at!.toCopy({ dtype: 'int64' }), features, deep } }),
            slotMapping: slotMapping!,
            all: { count: count!, positions, sequences: null, blockTable: blockTable!, width: width! },
            fresh: fresh ? { count: freshCount!, cuSeqlens: cuSeqlens!, longest: longest! } : undefined,
            paged: paged
              ? {
                  count: pagedCount!,
                  positions: pagedPositions!,
                  sequences: sequences!,
                  blockTable: blockTable!,
                  width: width!,
                }
              : undefined,
            many,
          })
          if (!hidden) return []
          const logits = this.ops.logits(hidden)
          const [samplingPositions, settings, keys, targetIds, forbiddenOffsets, forbidden] = sampling as [
            Tensor,
            Tensor,
            Tensor,
            Tensor,
            Tensor,
            Tensor,
          ]
          const rows = {
            count: samplingCount!,
            positions: samplingPositions,
            settings,
            keys,
            targetIds,
            forbiddenOffsets,
            forbidden,
          }
          const results = targetIds.newEmpty([samplePlanes(samplingRows.top), samplingCount!])
          this.ops.sample(logits, rows, results, { filtered, steps: undefined, top: samplingRows.top })
          return [results]
        })
      }) as unknown as StepProgram
    })
  }
}

/** Arrays as tensors, which are added to `made`. One copy for all: the host waits for each copy. */
function uploadTogether(arrays: readonly (Int32Array | Float32Array)[], device: Device, made: Tensor[]): Tensor[] {
  const { words, parts } = packArrays(arrays)
  return unscoped(() => {
    const keep = (tensor: Tensor): Tensor => {
      made.push(tensor)
      return tensor
    }
    const whole = keep(Tensor.from(words, { device }))
    return parts.map((part, i) => {
      const view = keep(whole.narrow(0, part.at, part.words))
      return arrays[i] instanceof Float32Array ? keep(view.viewDtype({ dtype: 'float32' })) : view
    })
  })
}

/** Results without padding rows. */
function unpack(found: Int32Array, { count: steps, rows, drawn, top }: Found): StepResult {
  const floats = new Float32Array(found.buffer, found.byteOffset, found.length)
  const columns = top + 1
  const result = {
    ids: new Int32Array(steps * drawn),
    raw: new Float32Array(steps * drawn),
    processed: new Float32Array(steps * drawn),
    topIds: new Int32Array(steps * drawn * columns),
    topLogprobs: new Float32Array(steps * drawn * columns),
  }
  for (let i = 0; i < steps; i++) {
    const plane = (k: number): number => (i * samplePlanes(top) + k) * rows
    result.ids.set(found.subarray(plane(0), plane(0) + drawn), i * drawn)
    result.raw.set(floats.subarray(plane(1), plane(1) + drawn), i * drawn)
    result.processed.set(floats.subarray(plane(2), plane(2) + drawn), i * drawn)
    for (let column = 0; column < columns; column++) {
      // The log-probability beside the rank is the sampled token's.
      const [ids, logprobs] = [plane(3 + column), plane(column === 0 ? 1 : 3 + top + column)]
      for (let row = 0, at = i * drawn * columns + column; row < drawn; row++, at += columns) {
        result.topIds[at] = found[ids + row]!
        result.topLogprobs[at] = floats[logprobs + row]!
      }
    }
  }
  return result
}
