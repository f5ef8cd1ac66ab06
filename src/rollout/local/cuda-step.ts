/**
 * Engine steps on a CUDA device, in bfloat16 or float16. Steps with prompts in them run as programs; steps of nothing but
 * next tokens as graphs, one for every number of rows, several in a row: each makes the input of the next, so that the host
 * looks at tokens only every few steps.
 *
 * A seed means what it means on the CPU: the same random number for the same key and position, and the same way from it to a
 * token. The logits are not the CPU's, though, nor in their last bits those of another number of rows: products are summed
 * in an order that depends on it. So a sample that comes out one way alone may, rarely, part ways in a batch.
 */
import type { DecoderParts } from '../../model/decoder.js'
import { ropeTables } from '../../model/rope.js'
import {
  type CapturedProgram,
  type Device,
  dtypeBytes,
  noGrad,
  type Program,
  record,
  Stream,
  type Sym,
  synchronize,
  Tensor,
  unscoped,
} from '../../tensor/index.js'
import type { HalfDType, PagedCache, RopeTables } from '../../tensor/kernels/paged-attention.js'
import { blockSize, blocksFor } from './blocks.js'
import { CudaOps } from './cuda-ops.js'
import {
  bucketFor,
  emptyState,
  fillState,
  hasFilters,
  type Part,
  stateLayout,
  stateWords,
  together,
} from './decode-state.js'
import { prefillRows } from './prefill-rows.js'
import { Programs, type StepProgram } from './programs.js'
import type { DecodeAhead, StepBatch, StepDevice, StepResult } from './step.js'

export interface CudaStepOptions {
  device: Device
  dtype: HalfDType
  /** Memory for keys and values. */
  cacheBytes: number
  /** Sequences at once, and tokens of one: more cache than they can fill is not taken. */
  maxSequences: number
  maxLength: number
}

/** Steps that are read together, and the stream that waits for them. */
interface Piece {
  number: number
  first: number
  count: number
  stream: Stream
}
interface Graph {
  program: Program
  captured: CapturedProgram
}

export class CudaStep implements StepDevice {
  readonly ahead = { steps: 256, look: 8 }
  private readonly capacity: number
  private readonly ops: CudaOps
  private readonly tables: RopeTables
  /** `[layers * 2, blocks, kvHeads, 16, headDim]`: keys and values of a layer follow each other. */
  private cache: Tensor | undefined
  private layers: PagedCache[] = []
  /** What graphs start from, `fillState`'s array; and what they find, `[steps, 3, rows]`. */
  private readonly state: Tensor
  private readonly results: Tensor
  private banned: Tensor
  /** Steps ahead run on a stream of their own, and what they found is read on two others, in turns, while they go on. */
  private readonly decodes: Stream
  private readonly reads: readonly [Stream, Stream]
  private readonly programs = new Programs()
  private readonly graphs = new Map<string, Graph>()
  private moves = 0

  constructor(
    private readonly parts: DecoderParts,
    private readonly options: CudaStepOptions,
  ) {
    const { config } = parts
    const { device, dtype, cacheBytes, maxSequences, maxLength } = options
    this.ops = new CudaOps(parts, dtype)
    const bytes = config.layers * 2 * config.kvHeads * config.headDim * blockSize * dtypeBytes(dtype)
    // One more for each: the block that is copied when samples part from their prompt.
    const width = blocksFor(maxLength) + 1
    this.capacity = Math.min(Math.floor(cacheBytes / bytes), maxSequences * width)
    if (this.capacity < 2) throw new RangeError(`a KV cache of ${cacheBytes} bytes has no room: a block takes ${bytes}`)
    this.tables = unscoped(() => ropeTables(config, maxLength, device))
    const rows = bucketFor(maxSequences)
    const words = (count: number): Tensor => unscoped(() => Tensor.empty([count], { dtype: 'int32', device }))
    this.state = words(stateWords(stateLayout(rows), rows * width))
    this.results = words(this.ahead.steps * 3 * rows)
    this.decodes = new Stream(device)
    this.reads = [new Stream(device), new Stream(device)]
    this.banned = words(1024)
    this.allocate()
  }

  get blocks(): number {
    return this.cache ? this.capacity : 0
  }

  allocate(): void {
    if (this.cache) return
    const { layers, kvHeads, headDim } = this.parts.config
    const { device, dtype } = this.options
    const cache = unscoped(() =>
      Tensor.empty([layers * 2, this.capacity, kvHeads, blockSize, headDim], { dtype, device }),
    )
    this.cache = cache
    this.layers = Array.from({ length: layers }, (_, i) =>
      unscoped(() => ({ keys: cache.select(0, 2 * i), values: cache.select(0, 2 * i + 1) })),
    )
  }

  release(): void {
    this.forgetGraphs()
    this.programs.dispose()
    for (const { keys, values } of this.layers.splice(0)) {
      keys.dispose()
      values.dispose()
    }
    this.cache?.dispose()
    this.cache = undefined
  }

  private forgetGraphs(): void {
    for (const { program, captured } of this.graphs.values()) {
      captured.dispose()
      program.dispose()
    }
    this.graphs.clear()
  }

  dispose(): void {
    this.release()
    for (const tensor of [this.tables.cos, this.tables.sin, this.state, this.results, this.banned]) tensor.dispose()
  }

  // ---- steps of next tokens

  async *decodeMany(
    batch: StepBatch,
    { budgets, steps, look }: DecodeAhead,
  ): AsyncGenerator<StepResult, undefined, 'more' | 'enough'> {
    const { draws } = batch
    const layout = stateLayout(bucketFor(draws.count))
    this.reserveBanned(draws.bannedIds.length)
    const graph = await this.graph(layout.rows, batch)
    // These wait until they are done; copies of blocks are ordered by the stream.
    if (draws.bannedIds.length > 0) write(this.banned, draws.bannedIds)
    write(this.state, fillState(layout, batch, budgets))
    await this.decodes.use(() => this.copyBlocks(batch))
    const launch = (number: number): Piece | undefined => {
      const first = number * look
      const count = Math.min(look, steps - first)
      if (count <= 0) return undefined
      this.decodes.use(() => {
        for (let i = 0; i < count; i++) graph.replay()
      })
      // In turns: a stream that already waits for the steps after these could not read these.
      const stream = this.reads[number % 2]!
      stream.waitFor(this.decodes)
      return { number, first, count, stream }
    }
    let under: Piece | undefined = launch(0)
    let more = true
    try {
      while (under) {
        const next: Piece | undefined = more ? launch(under.number + 1) : undefined
        const result = await this.readPiece(under, layout.rows, draws.count)
        under = next
        more = (yield result) === 'more'
      }
    } finally {
      // Whoever leaves early must not reuse blocks that are still written.
      if (under) await synchronize(this.options.device)
    }
    return undefined
  }

  private async readPiece({ first, count, stream }: Piece, rows: number, drawn: number): Promise<StepResult> {
    const found = unscoped(() => this.results.narrow(0, first * 3 * rows, count * 3 * rows))
    try {
      return unpack(await stream.use(() => found.data<'int32'>()), count, rows, drawn)
    } finally {
      found.dispose()
    }
  }

  /** Graphs read the ids where they lie. */
  private reserveBanned(count: number): void {
    if (count <= this.banned.numel) return
    this.forgetGraphs()
    this.banned.dispose()
    const { device } = this.options
    this.banned = unscoped(() => Tensor.empty([2 ** Math.ceil(Math.log2(count))], { dtype: 'int32', device }))
  }

  private async graph(rows: number, batch: StepBatch): Promise<CapturedProgram> {
    // Weights that moved left their addresses to others.
    const moves = this.parts.moves?.() ?? 0
    if (moves !== this.moves) this.forgetGraphs()
    this.moves = moves
    const filtered = hasFilters(batch.draws)
    const plan = this.ops.planAttention(rows, batch.tableWidth * blockSize)
    const key = [rows, filtered, plan.splits, plan.warps, this.parts.adapter !== undefined].join(' ')
    const known = this.graphs.get(key)
    if (known) return known.captured
    const { layers, tables } = this
    if (!this.cache) throw new Error('the KV cache is released; wake the engine first')
    const layout = stateLayout(rows)
    const parts: Tensor[] = []
    const part = ({ at, words }: Part): Tensor => {
      const view = unscoped(() => this.state.narrow(0, at, words))
      parts.push(view)
      return view
    }
    const [ids, positions, budgets, left] = [layout.ids, layout.positions, layout.budgets, layout.left].map(part)
    const width = part(layout.width)
    const table = part({ at: layout.table, words: this.state.numel - layout.table })
    const settings = part(layout.settings)
    const wide = unscoped(() => settings.viewDtype({ dtype: 'float32' }))
    const [keys, forced, bannedOffsets] = [layout.keys, layout.forced, layout.bannedOffsets].map(part)
    try {
      const program = record([], () => {
        noGrad(() => {
          const hidden = this.ops.decode(ids!, {
            layers,
            tables,
            plan,
            rows: { count: rows, positions: positions!, sequences: null, table, width },
          })
          this.ops.draw(
            hidden,
            {
              count: rows,
              positions: positions!,
              settings: wide,
              keys: keys!,
              forced: forced!,
              bannedOffsets: bannedOffsets!,
              banned: this.banned,
            },
            this.results,
            { filtered, steps: { ids: ids!, budgets: budgets!, left: left! } },
          )
        })
      })
      // Rows that are not there compute nothing: making the graph leaves the cache as it is.
      write(this.state, emptyState(layout))
      const captured = await program.capture([], { warmups: 1 })
      this.graphs.set(key, { program, captured })
      return captured
    } finally {
      wide.dispose()
      for (const view of parts) view.dispose()
    }
  }

  private async copyBlocks({ copyFrom, copyTo }: StepBatch): Promise<void> {
    if (copyFrom.length === 0) return
    const { cache } = this
    const program = this.programs.get('copy', () =>
      record(['tensor', 'tensor'] as readonly ('tensor' | 'number')[], (...inputs) => {
        const [from, to] = inputs as unknown as [Tensor, Tensor]
        noGrad(() => cache!.indexCopy_(1, to.toCopy({ dtype: 'int64' }), cache!.indexSelect(1, from)))
        return [] as readonly Tensor[]
      }),
    )
    const pair = [copyFrom, copyTo].map(blocks => this.upload(blocks))
    try {
      await program.run(...pair)
    } finally {
      for (const tensor of pair) tensor.dispose()
    }
  }

  private upload(array: Int32Array | Float32Array): Tensor {
    return unscoped(() => Tensor.from(array, { device: this.options.device }))
  }

  // ---- any steps

  async step(batch: StepBatch): Promise<StepResult> {
    const { draws } = batch
    const rows = prefillRows(batch)
    const { paged } = rows
    const arrays: (Int32Array | Float32Array)[] = [rows.ids, rows.positions, rows.slots, rows.offsets]
    arrays.push(paged.positions, paged.sequences, batch.table, Int32Array.of(batch.tableWidth))
    if (draws.count > 0) {
      const keys = Int32Array.from({ length: 2 * draws.count }, (_, i) => draws.streams[(i >> 1) * 3 + (i & 1)]!)
      const positions = Int32Array.from({ length: draws.count }, (_, i) => draws.streams[3 * i + 2]!)
      arrays.push(rows.wanted, positions, Float32Array.from(draws.settings), keys)
      arrays.push(draws.forced, draws.bannedOffsets, draws.bannedIds)
    }
    const made: Tensor[] = []
    try {
      await this.copyBlocks(batch)
      const inputs = uploadTogether(arrays, this.options.device, made)
      const program = this.program(batch, {
        fresh: rows.longest > 0,
        paged: rows.paged.positions.length > 0,
        many: this.ops.isMany(rows.ids.length),
      })
      const fresh = rows.offsets.at(-1)!
      const numbers = [rows.ids.length, fresh, rows.ids.length - fresh, Math.max(1, rows.longest), draws.count]
      const outputs = (await program.run(...inputs, ...numbers)) ?? []
      made.push(...outputs)
      // What comes next may be on another stream.
      if (outputs.length === 0) await synchronize(this.options.device)
      const [found, ...top] = await Promise.all(outputs.map(output => output.data()))
      const result = unpack(
        (found ?? new Int32Array(0)) as Int32Array,
        draws.count > 0 ? 1 : 0,
        draws.count,
        draws.count,
      )
      if (top.length > 0) {
        result.topIds = top[0] as Int32Array
        result.topLogprobs = top[1] as Float32Array
      }
      return result
    } finally {
      for (const tensor of made) tensor.dispose()
    }
  }

  private program(
    { draws }: StepBatch,
    { fresh, paged, many }: { fresh: boolean; paged: boolean; many: boolean },
  ): StepProgram {
    const { layers, tables } = this
    if (!this.cache) throw new Error('the KV cache is released; wake the engine first')
    const drawing = draws.count > 0
    const filtered = hasFilters(draws)
    const adapts = this.parts.adapter !== undefined
    const key = [fresh, paged, many, drawing, filtered, draws.top, adapts].join(' ')
    return this.programs.get(key, () => {
      const kinds = [
        ...Array.from({ length: drawing ? 15 : 8 }, () => 'tensor' as const),
        ...Array.from({ length: 5 }, () => 'number' as const),
      ] as readonly ('tensor' | 'number')[]
      return record(kinds, (...inputs) => {
        const [count, freshCount, pagedCount, longest, drawCount] = inputs.slice(-5) as unknown as Sym[]
        const [ids, positions, slots, offsets, pagedPositions, sequences, table, width, wanted, ...sampling] =
          inputs.slice(0, -5) as unknown as Tensor[]
        return noGrad(() => {
          const logits = this.ops.prefill(ids!, wanted, {
            layers,
            tables,
            slots: slots!,
            all: { count: count!, positions: positions!, sequences: null, table: table!, width: width! },
            fresh: fresh ? { count: freshCount!, offsets: offsets!, longest: longest! } : undefined,
            paged: paged
              ? { count: pagedCount!, positions: pagedPositions!, sequences: sequences!, table: table!, width: width! }
              : undefined,
            many,
          })
          if (!logits) return []
          const [drawPositions, settings, keys, forced, bannedOffsets, banned] = sampling as [
            Tensor,
            Tensor,
            Tensor,
            Tensor,
            Tensor,
            Tensor,
          ]
          const rows = { count: drawCount!, positions: drawPositions, settings, keys, forced, bannedOffsets, banned }
          const results = forced.newEmpty([3, drawCount!])
          this.ops.sample(logits, rows, results, { filtered, steps: undefined })
          return draws.top < 0 ? [results] : [results, ...this.ops.likeliest(logits, results, draws.top)]
        })
      }) as unknown as StepProgram
    })
  }
}

/** Arrays as tensors, which are added to `made`. One copy brings them there: the host waits for each it makes. */
function uploadTogether(arrays: readonly (Int32Array | Float32Array)[], device: Device, made: Tensor[]): Tensor[] {
  const { words, parts } = together(arrays)
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

/** Copies an array to the beginning of a tensor. */
function write(target: Tensor, values: Int32Array): void {
  unscoped(() => {
    const [source, part] = [Tensor.from(values), target.narrow(0, 0, values.length)]
    part.copy_(source)
    source.dispose()
    part.dispose()
  })
}

/** `[steps, 3, rows]` without the rows that fill up. */
function unpack(found: Int32Array, steps: number, rows: number, count: number): StepResult {
  const floats = new Float32Array(found.buffer, found.byteOffset, found.length)
  const result = {
    ids: new Int32Array(steps * count),
    raw: new Float32Array(steps * count),
    processed: new Float32Array(steps * count),
    topIds: new Int32Array(0),
    topLogprobs: new Float32Array(0),
  }
  for (let i = 0; i < steps; i++) {
    const at = i * 3 * rows
    result.ids.set(found.subarray(at, at + count), i * count)
    result.raw.set(floats.subarray(at + rows, at + rows + count), i * count)
    result.processed.set(floats.subarray(at + 2 * rows, at + 2 * rows + count), i * count)
  }
  return result
}
