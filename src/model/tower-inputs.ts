/** What a vision tower reads, on its device: patches of pixels, and where they are. */
import {
  cutPatches,
  cutPatchesOnCpu,
  type PatchPlaces,
  ropeTables,
  type SegmentGroups,
  type Segments,
  type TowerLayout,
  type VisionConfig,
} from '../decoder/index.js'
import type { MediaPixels } from '../sequence/index.js'
import {
  cat,
  type Device,
  type DType,
  noGrad,
  operatorExists,
  record,
  type Sym,
  Tensor,
  unscoped,
} from '../tensor/index.js'
import { patchCount } from './media.js'

/** Mean and standard deviation of pixels, from 0 to 1. */
export interface PixelScale {
  mean: readonly number[]
  std: readonly number[]
}

type Cut = ReturnType<typeof recordCut>

export class TowerInputs {
  private cut: Cut | undefined
  private tables: { cos: Tensor; sin: Tensor; positions: number } | undefined
  private scale: { mean: Tensor; std: Tensor } | undefined

  constructor(
    private readonly config: VisionConfig,
    private readonly settings: { device: Device; dtype: DType },
    private readonly given: PixelScale,
  ) {}

  /** The patches of all items, `[patches, numbers]`, in the dtype of the weights. The caller disposes them. */
  async patches(items: readonly MediaPixels[]): Promise<Tensor> {
    const { patch, temporalPatch, merge } = this.config
    const { device, dtype } = this.settings
    this.cut ??= recordCut(this.config, device)
    const total = items.reduce((sum, item) => sum + patchCount(item), 0)
    const into = unscoped(() => Tensor.empty([total, 3 * temporalPatch * patch * patch], { dtype, device }))
    let start = 0
    try {
      for (const item of items) {
        const [time, height, width] = item.grid
        const bytes = height * width * patch * patch * 3
        const count = item.frames.length / bytes
        // A picture is the same frame twice, a video with an odd number of frames ends with its last one twice.
        const each = Int32Array.from({ length: time * temporalPatch }, (_, i) => Math.min(i, count - 1))
        const { mean, std } = this.scaleTensors()
        const frames = unscoped(() => Tensor.from(item.frames, { device, shape: [count, bytes] }))
        const which = unscoped(() => Tensor.from(each, { device }))
        const rows = patchCount(item)
        try {
          await this.cut.run(into, frames, which, mean, std, start, rows, height / merge, width / merge, time)
        } finally {
          frames.dispose()
          which.dispose()
        }
        start += rows
      }
      return into
    } catch (error) {
      into.dispose()
      throw error
    }
  }

  private scaleTensors(): { mean: Tensor; std: Tensor } {
    const { device } = this.settings
    // The products are float32 numbers, as in transformers.
    const wide = (values: readonly number[]): Tensor =>
      unscoped(() =>
        Tensor.from(
          Float32Array.from(values, v => Math.fround(v) * 255),
          { device, shape: [3, 1] },
        ),
      )
    this.scale ??= { mean: wide(this.given.mean), std: wide(this.given.std) }
    return this.scale
  }

  /** A layout as inputs of a program, and how the program reads them. `key` names what the program depends on. */
  places(layout: TowerLayout): {
    key: string
    tensors: Tensor[]
    numbers: number[]
    read: (tensors: readonly Tensor[], numbers: readonly Sym[]) => PatchPlaces
  } {
    const { device } = this.settings
    const upload = (array: Int32Array | Float32Array, shape: readonly number[] = [array.length]): Tensor =>
      unscoped(() => Tensor.from(array, { device, shape }))
    const { rows, columns, frames, windows, table } = layout
    const { cos, sin } = this.tablesFor(Math.max(largest(rows), largest(columns)) + 1)
    const tensors = [cos, sin, upload(rows), upload(columns)]
    const numbers: number[] = []
    const kinds: string[] = []
    for (const segments of [frames, windows]) {
      if (!segments) continue
      if (segments.order) tensors.push(upload(segments.order), upload(segments.inverse!))
      for (const { start, rows, length } of segments.groups) numbers.push(start, rows, length)
      kinds.push(`${segments.order ? 'reordered' : 'straight'} ${segments.groups.length}`)
    }
    const around = [4, rows.length]
    if (table) tensors.push(upload(table.entries, around), upload(table.shares, around))
    const shape = { frames: shapeOf(frames), windows: windows && shapeOf(windows), table: table !== undefined }
    return { key: kinds.join(), tensors, numbers, read: (given, counts) => readPlaces(given, counts, shape) }
  }

  /** Disposes what `places` made; tables stay. */
  dispose(tensors: readonly Tensor[]): void {
    for (const tensor of tensors) if (tensor !== this.tables?.cos && tensor !== this.tables?.sin) tensor.dispose()
  }

  private tablesFor(positions: number): { cos: Tensor; sin: Tensor } {
    if (!this.tables || this.tables.positions < positions) {
      const { width, heads, ropeTheta } = this.config
      const rounded = Math.max(64, 2 ** Math.ceil(Math.log2(positions)))
      const shape = { headDim: width / heads / 2, ropeTheta, ropeScaling: undefined }
      this.releaseTables()
      this.tables = { ...unscoped(() => ropeTables(shape, rounded, this.settings.device)), positions: rounded }
    }
    return this.tables
  }

  private releaseTables(): void {
    this.tables?.cos.dispose()
    this.tables?.sin.dispose()
    this.tables = undefined
  }

  release(): void {
    this.releaseTables()
    this.scale?.mean.dispose()
    this.scale?.std.dispose()
    this.scale = undefined
  }

  disposePrograms(): void {
    this.cut?.dispose()
    this.cut = undefined
  }
}

function recordCut(config: VisionConfig, device: Device) {
  const kinds = [...Array<'tensor'>(5).fill('tensor'), ...Array<'number'>(5).fill('number')]
  return record(kinds as readonly ('tensor' | 'number')[], (...inputs) => {
    const [into, frames, which, mean, std] = inputs as unknown as Tensor[]
    const [start, rows, height, width, time] = inputs.slice(5) as Sym[]
    const scale = { mean: mean!, std: std! }
    const size = { height: height!, width: width! }
    noGrad(() => {
      const cut =
        device === 'cpu' && hasCut()
          ? cutPatchesOnCpu(frames!, scale, { time: time!, ...size }, config)
          : cutPatches(frames!.indexSelect(0, which!), scale, size, config)
      into!.narrow(0, start!, rows!).copy_(cut)
    })
  })
}

/** A bridge that was built before the operator was written has the slower way. */
const hasCut = (): boolean => operatorExists('whetstone::cut_patches')

const largest = (values: Int32Array): number => values.reduce((most, value) => Math.max(most, value), 0)

interface SegmentShape {
  reordered: boolean
  groups: number
}

const shapeOf = ({ order, groups }: SegmentGroups): SegmentShape => ({
  reordered: order !== undefined,
  groups: groups.length,
})

function readPlaces(
  tensors: readonly Tensor[],
  numbers: readonly Sym[],
  shape: { frames: SegmentShape; windows: SegmentShape | undefined; table: boolean },
): PatchPlaces {
  const [cosTable, sinTable, rows, columns, ...rest] = tensors as [Tensor, Tensor, Tensor, Tensor, ...Tensor[]]
  const counts = [...numbers]
  const segments = ({ reordered, groups }: SegmentShape): Segments => ({
    order: reordered ? rest.shift() : undefined,
    inverse: reordered ? rest.shift() : undefined,
    groups: Array.from({ length: groups }, () => {
      const [start, rows, length] = counts.splice(0, 3) as [Sym, Sym, Sym]
      return { start, rows, length }
    }),
  })
  // The first half of a head's pairs turns by the row, the second by the column.
  const both = (table: Tensor): Tensor => cat([table.indexSelect(0, rows), table.indexSelect(0, columns)], 1)
  const frames = segments(shape.frames)
  const windows = shape.windows && segments(shape.windows)
  const [entries, shares] = rest
  return {
    cos: both(cosTable),
    sin: both(sinTable),
    frames,
    windows,
    table: shape.table ? { entries: entries!, shares: shares! } : undefined,
  }
}
