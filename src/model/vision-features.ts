/**
 * The vision tower of a model: images and videos to rows of the decoder. What no gradient goes through is kept and found again by its
 * content, so that samples, epochs and engines share one pass.
 */
import { type DecoderParts, familyOf, type Grid, runBlocks, type Tower, towerLayout } from '../decoder/index.js'
import type { MediaPixels } from '../sequence/index.js'
import { cat, type Device, type DType, noGrad, record, type Sym, type Tensor, unscoped } from '../tensor/index.js'
import { patchCount } from './media.js'
import type { Parameters } from './parameters.js'
import { type PixelScale, TowerInputs } from './tower-inputs.js'

type Pass = ReturnType<typeof record<readonly ('tensor' | 'number')[], readonly Tensor[]>>

/** Rows that are kept, at most. */
const keptBytes = 2 ** 30

/** What is kept: the rows of the decoder, or those before the mergers where only the mergers are trained. */
type Level = 'features' | 'states'

interface VisionSettings {
  device: Device
  dtype: DType
  gradientCheckpointing: boolean
  /** Patches of one pass of the tower without gradients. */
  patchBudget: number
}

export class VisionFeatures {
  /** Patches that went through the tower since the model was made. */
  computedPatches = 0
  private readonly tower: Tower
  private readonly inputs: TowerInputs
  private readonly programs = new Map<string, Pass>()
  /** By level and hash, the least recently used first. */
  private readonly kept = new Map<string, readonly Tensor[]>()
  private bytes = 0
  /** Of the weights that `kept` was computed with. */
  private revision = ''

  constructor(
    parts: DecoderParts,
    private readonly weights: Parameters,
    private readonly settings: VisionSettings,
    scale: PixelScale,
  ) {
    const { vision: config, family } = parts.config
    this.tower = {
      config: config!,
      family: familyOf(family).vision!,
      ops: parts.ops,
      weight: name => parts.weights.get(`visual.${name}`) ?? null,
    }
    this.inputs = new TowerInputs(config!, settings, scale)
  }

  /**
   * The rows of these items, one after another, and behind them what is added to the first layers of the decoder. With gradients
   * recorded, a backward pass trains what is trained of the tower. The caller disposes them.
   */
  async rows(items: readonly MediaPixels[], { gradients }: { gradients: boolean }): Promise<readonly Tensor[]> {
    const { blocks, mergers } = this.weights.trainedVision
    if (gradients && blocks) {
      const states = await this.blocks(items, true)
      return this.finish(this.merge(states, true), states)
    }
    // Mergers that are trained change with every step, the blocks before them do not.
    if (mergers && !blocks) {
      const states = await this.shared('states', items)
      return this.finish(this.merge(states, gradients), states)
    }
    return this.shared('features', items)
  }

  private async finish(made: Promise<readonly Tensor[]>, before: readonly Tensor[]): Promise<readonly Tensor[]> {
    try {
      return await made
    } finally {
      for (const tensor of before) tensor.dispose()
    }
  }

  /** Of items that were computed before, and of the others, which are kept then. */
  private async shared(level: Level, items: readonly MediaPixels[]): Promise<readonly Tensor[]> {
    this.dropStale(level)
    const { revision } = this
    const found = new Map<string, readonly Tensor[]>()
    const missing: MediaPixels[] = []
    for (const item of items) {
      const key = `${level} ${item.hash}`
      const known = this.kept.get(key)
      if (known) {
        this.kept.delete(key)
        this.kept.set(key, known)
        // A handle of our own: another caller may drop what is kept meanwhile.
        found.set(
          item.hash,
          known.map(tensor => unscoped(() => tensor.alias())),
        )
      } else missing.push(item)
    }
    try {
      for (const chunk of this.chunks(missing)) {
        const made = await this.compute(level, chunk)
        for (const [i, item] of chunk.entries()) {
          found.set(item.hash, made[i]!)
          if (this.revision === revision) this.keep(`${level} ${item.hash}`, made[i]!)
        }
      }
      const lists = items.map(({ hash }) => found.get(hash)!)
      const count = lists[0]!.length
      return await this.join(lists.flat(), lists.length, count)
    } finally {
      for (const tensors of found.values()) for (const tensor of tensors) tensor.dispose()
    }
  }

  private *chunks(items: readonly MediaPixels[]): Generator<MediaPixels[]> {
    let chunk: MediaPixels[] = []
    let patches = 0
    for (const item of items) {
      const added = patchCount(item)
      if (chunk.length > 0 && patches + added > this.settings.patchBudget) {
        yield chunk
        chunk = []
        patches = 0
      }
      chunk.push(item)
      patches += added
    }
    if (chunk.length > 0) yield chunk
  }

  private dropStale(level: Level): void {
    const { blocks, mergers } = this.weights.trainedVision
    const changes = blocks || (level === 'features' && mergers)
    const now = changes ? `step ${this.weights.revision}` : `frozen ${this.weights.frozenRevision}`
    if (now !== this.revision) this.drop()
    this.revision = now
  }

  private keep(key: string, tensors: readonly Tensor[]): void {
    // Two callers may have computed the same item.
    if (this.kept.has(key)) return
    const own = tensors.map(tensor => unscoped(() => tensor.alias()))
    this.kept.set(key, own)
    this.bytes += bytesOf(own)
    for (const [oldest, old] of this.kept) {
      if (this.bytes <= keptBytes) break
      this.kept.delete(oldest)
      this.bytes -= bytesOf(old)
      for (const tensor of old) tensor.dispose()
    }
  }

  /** Each item's tensors, without gradients. */
  private async compute(level: Level, items: readonly MediaPixels[]): Promise<Tensor[][]> {
    const states = await this.blocks(items, false)
    const whole = level === 'states' ? states : await this.finish(this.merge(states, false), states)
    const { merge } = this.tower.config
    const per = level === 'states' ? 1 : merge * merge
    try {
      return await this.split(
        whole,
        items.map(item => patchCount(item) / per),
      )
    } finally {
      for (const tensor of whole) tensor.dispose()
    }
  }

  /** Copies, so that an item that is dropped frees its memory. */
  private async split(whole: readonly Tensor[], rows: readonly number[]): Promise<Tensor[][]> {
    const program = this.program(`split ${whole.length}`, whole.length, 2, (tensors, [start, count]) =>
      noGrad(() => tensors.map(tensor => tensor.narrow(0, start!, count!).clone())),
    )
    const made: Tensor[][] = []
    let start = 0
    for (const count of rows) {
      made.push([...(await program.run(...whole, start, count))])
      start += count
    }
    return made
  }

  private join(tensors: readonly Tensor[], items: number, count: number): Promise<readonly Tensor[]> {
    const program = this.program(`join ${items} ${count}`, items * count, 0, given =>
      noGrad(() =>
        Array.from({ length: count }, (_, k) =>
          cat(
            given.filter((_, i) => i % count === k),
            0,
          ),
        ),
      ),
    )
    return program.run(...tensors)
  }

  private async blocks(items: readonly MediaPixels[], training: boolean): Promise<readonly Tensor[]> {
    this.computedPatches += items.reduce((sum, item) => sum + patchCount(item), 0)
    const layout = towerLayout(
      items.map(({ grid }) => grid as Grid),
      this.tower.config,
    )
    const patches = await this.inputs.patches(items)
    const { tensors, numbers, key, read } = this.inputs.places(layout)
    const gradientCheckpointing = training && this.settings.gradientCheckpointing
    const program = this.program(`blocks ${training} ${key}`, 1 + tensors.length, numbers.length, (given, counts) => {
      const run = () => runBlocks(this.tower, given[0]!, read(given.slice(1), counts), { gradientCheckpointing })
      return training ? run() : noGrad(run)
    })
    try {
      return await program.run(patches, ...tensors, ...numbers)
    } finally {
      patches.dispose()
      this.inputs.dispose(tensors)
    }
  }

  private merge(states: readonly Tensor[], training: boolean): Promise<readonly Tensor[]> {
    const program = this.program(`merge ${training}`, states.length, 0, given => {
      const run = () => this.tower.family.merge(this.tower, given)
      return training ? run() : noGrad(run)
    })
    return program.run(...states)
  }

  private program(
    key: string,
    tensors: number,
    numbers: number,
    fn: (tensors: Tensor[], numbers: Sym[]) => readonly Tensor[],
  ): Pass {
    let known = this.programs.get(key)
    if (!known) {
      const kinds = [...Array<'tensor'>(tensors).fill('tensor'), ...Array<'number'>(numbers).fill('number')]
      known = record(kinds as readonly ('tensor' | 'number')[], (...inputs) =>
        fn(inputs.slice(0, tensors) as Tensor[], inputs.slice(tensors) as Sym[]),
      )
      this.programs.set(key, known)
    }
    return known
  }

  /** Frees what is computed again when it is next needed. */
  release(): void {
    this.drop()
    this.inputs.release()
  }

  private drop(): void {
    for (const tensors of this.kept.values()) for (const tensor of tensors) tensor.dispose()
    this.kept.clear()
    this.bytes = 0
  }

  dispose(): void {
    this.release()
    for (const program of this.programs.values()) program.dispose()
    this.programs.clear()
    this.inputs.disposePrograms()
  }
}

const bytesOf = (tensors: readonly Tensor[]): number => tensors.reduce((sum, { nbytes }) => sum + nbytes, 0)
