/**
 * The CUDA graphs of an engine's steps; each kind is captured at its first use. All of them read one input array, write one table of results
 * and share their scratch memory: two graphs never run at the same time.
 */
import type { SampleRows } from '../../kernels/index.js'
import {
  type CapturedProgram,
  type Device,
  noGrad,
  type Program,
  record,
  Tensor,
  unscoped,
} from '../../tensor/index.js'
import type { Part, SamplingParts } from './graph-inputs.js'

export interface StepGraph {
  /** Names everything that graphs differ in. */
  key: string
  /** Its input without rows: it computes nothing and does not change the cache. */
  empty: Int32Array
  record(memory: GraphMemory): void
}

interface GraphMemory {
  /** A part of the graph's input. */
  part(part: Part): Tensor
  /** The input from here to its end. */
  rest(at: number): Tensor
  /** Sampling inputs at these positions. */
  samplingRows(count: number, positions: Tensor, parts: SamplingParts): SampleRows & { count: number }
  results: Tensor
}

export class StepGraphs {
  /** Allocated at the first step, and released while the engine sleeps. */
  private held: { state: Tensor; results: Tensor; forbidden: Tensor } | undefined
  private readonly known = new Map<string, { program: Program; captured: CapturedProgram }>()
  private generationSeen = 0

  constructor(
    private readonly options: {
      device: Device
      /** Size of the longest input and of the results, in words. */
      state: number
      results: number
      /** How often the weights moved to other addresses. */
      storageGeneration: () => number
    },
  ) {}

  get results(): Tensor {
    return this.memory.results
  }

  private get memory(): { state: Tensor; results: Tensor; forbidden: Tensor } {
    const { state, results } = this.options
    this.held ??= { state: this.words(state), results: this.words(results), forbidden: this.words(1024) }
    return this.held
  }

  private words(count: number): Tensor {
    return unscoped(() => Tensor.empty([count], { dtype: 'int32', device: this.options.device }))
  }

  /** The graph with this input for its next replay. Earlier replays must have ended. */
  async ready(graph: StepGraph, state: Int32Array, forbiddenIds: Int32Array): Promise<CapturedProgram> {
    const generation = this.options.storageGeneration()
    if (generation !== this.generationSeen) this.discard()
    this.generationSeen = generation
    const { memory } = this
    if (forbiddenIds.length > memory.forbidden.numel) {
      // Graphs read the ids at this address.
      this.discard()
      memory.forbidden.dispose()
      memory.forbidden = this.words(2 ** Math.ceil(Math.log2(forbiddenIds.length)))
    }
    const captured = this.known.get(graph.key)?.captured ?? (await this.capture(graph))
    if (forbiddenIds.length > 0) write(memory.forbidden, forbiddenIds)
    write(memory.state, state)
    return captured
  }

  private async capture(graph: StepGraph): Promise<CapturedProgram> {
    const { state, forbidden, results } = this.memory
    const part = ({ at, words }: Part): Tensor => state.narrow(0, at, words)
    const parts: GraphMemory = {
      part,
      rest: at => part({ at, words: state.numel - at }),
      samplingRows: (count, positions, parts) => ({
        count,
        positions,
        settings: part(parts.settings).viewDtype({ dtype: 'float32' }),
        keys: part(parts.keys),
        targetIds: part(parts.targetIds),
        forbiddenOffsets: part(parts.forbiddenOffsets),
        forbidden,
      }),
      results,
    }
    const program = record([], () => noGrad(() => graph.record(parts)))
    write(state, graph.empty)
    const [beside] = this.known.values()
    const captured = await program.capture([], { warmups: 1, beside: beside?.captured })
    this.known.set(graph.key, { program, captured })
    return captured
  }

  discard(): void {
    for (const { program, captured } of this.known.values()) {
      captured.dispose()
      program.dispose()
    }
    this.known.clear()
  }

  /** Releases all memory; the next step allocates it again. */
  release(): void {
    this.discard()
    for (const tensor of Object.values(this.held ?? {})) tensor.dispose()
    this.held = undefined
  }
}

/** Copies an array to the beginning of a tensor, and waits for it. */
function write(target: Tensor, values: Int32Array): void {
  if (values.length > target.numel) throw new RangeError(`${values.length} words do not fit ${target.numel}`)
  unscoped(() => {
    const [source, part] = [Tensor.from(values), target.narrow(0, 0, values.length)]
    part.copy_(source)
    source.dispose()
    part.dispose()
  })
}
