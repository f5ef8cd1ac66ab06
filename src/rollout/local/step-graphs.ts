/**
 * The CUDA graphs of an engine's steps: each is captured when a step of its kind first comes. All of them start from one array
 * and write one table of results, and they share their scratch memory: no two of them ever run at the same time.
 */
import {
  type CapturedProgram,
  type Device,
  noGrad,
  type Program,
  record,
  Tensor,
  unscoped,
} from '../../tensor/index.js'
import type { SampleRows } from '../../tensor/kernels/sample.js'
import type { DrawParts, Part } from './state-parts.js'

export interface StepGraph {
  /** Says everything that makes it another graph. */
  key: string
  /** What it starts from where no row is there: it then computes nothing, and leaves the cache as it is. */
  empty: Int32Array
  record(memory: GraphMemory): void
}

export interface GraphMemory {
  /** A part of what the graph starts from. */
  part(part: Part): Tensor
  /** All of it from here on. */
  rest(at: number): Tensor
  /** How tokens are drawn at these positions. */
  draws(count: number, positions: Tensor, parts: DrawParts): SampleRows & { count: number }
  results: Tensor
}

export class StepGraphs {
  readonly results: Tensor
  private readonly state: Tensor
  private banned: Tensor
  private readonly known = new Map<string, { program: Program; captured: CapturedProgram }>()
  private movesSeen = 0

  constructor(
    private readonly options: {
      device: Device
      /** Words of the longest array that steps start from, and of the results. */
      state: number
      results: number
      /** How often weights moved: they left their addresses to others. */
      moves: () => number
    },
  ) {
    this.state = this.words(options.state)
    this.results = this.words(options.results)
    this.banned = this.words(1024)
  }

  private words(count: number): Tensor {
    return unscoped(() => Tensor.empty([count], { dtype: 'int32', device: this.options.device }))
  }

  /** The graph, whose next replay starts from this. What was started before must be over. */
  async ready(graph: StepGraph, state: Int32Array, bannedIds: Int32Array): Promise<CapturedProgram> {
    const moves = this.options.moves()
    if (moves !== this.movesSeen) this.forget()
    this.movesSeen = moves
    if (bannedIds.length > this.banned.numel) {
      // Graphs read the ids where they lie.
      this.forget()
      this.banned.dispose()
      this.banned = this.words(2 ** Math.ceil(Math.log2(bannedIds.length)))
    }
    const captured = this.known.get(graph.key)?.captured ?? (await this.capture(graph))
    if (bannedIds.length > 0) write(this.banned, bannedIds)
    write(this.state, state)
    return captured
  }

  private async capture(graph: StepGraph): Promise<CapturedProgram> {
    const { state, banned, results } = this
    const part = ({ at, words }: Part): Tensor => state.narrow(0, at, words)
    const memory: GraphMemory = {
      part,
      rest: at => part({ at, words: state.numel - at }),
      draws: (count, positions, parts) => ({
        count,
        positions,
        settings: part(parts.settings).viewDtype({ dtype: 'float32' }),
        keys: part(parts.keys),
        forced: part(parts.forced),
        bannedOffsets: part(parts.bannedOffsets),
        banned,
      }),
      results,
    }
    const program = record([], () => noGrad(() => graph.record(memory)))
    write(state, graph.empty)
    const [beside] = this.known.values()
    const captured = await program.capture([], { warmups: 1, beside: beside?.captured })
    this.known.set(graph.key, { program, captured })
    return captured
  }

  forget(): void {
    for (const { program, captured } of this.known.values()) {
      captured.dispose()
      program.dispose()
    }
    this.known.clear()
  }

  dispose(): void {
    this.forget()
    for (const tensor of [this.state, this.results, this.banned]) tensor.dispose()
  }
}

/** Copies an array to the beginning of a tensor, and waits until it is there. */
function write(target: Tensor, values: Int32Array): void {
  if (values.length > target.numel) throw new RangeError(`${values.length} words do not fit ${target.numel}`)
  unscoped(() => {
    const [source, part] = [Tensor.from(values), target.narrow(0, 0, values.length)]
    part.copy_(source)
    source.dispose()
    part.dispose()
  })
}
