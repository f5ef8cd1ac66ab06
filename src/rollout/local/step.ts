/**
 * The interface between engine and device: integer arrays in, sampled tokens out. The engine and the scheduler know sequences but no
 * tensors; a device knows tensors but no sequences.
 */
import type { Program, Tensor } from '../../tensor/index.js'
import type { StepMedia } from './step-media.js'

/**
 * Rows are tokens. A row with sequence -1 is padding: its result is not read.
 *
 * A token has three positions, which are equal for text: for rope (`ropePositions`), for attention (`kvPositions`; `slotMapping` is its
 * place in the cache) and for random numbers (`SamplingRows.streams`). Images have many tokens and few rope positions, so none replaces
 * another.
 */
export interface StepBatch {
  ids: Int32Array
  /** Rope position of each row. */
  ropePositions: Int32Array
  /** Each row's index in its sequence: it attends to all rows up to itself. */
  kvPositions: Int32Array
  /** Each row's sequence: a row of `blockTable`. */
  sequences: Int32Array
  /** Slot of each row's key and value: block * 16 + offset; -1: not stored. */
  slotMapping: Int32Array
  /** The blocks of each sequence, `blockTableWidth` entries each; entries after its last block are not read. */
  blockTable: Int32Array
  blockTableWidth: number
  /** Blocks to copy first. */
  copyFrom: Int32Array
  copyTo: Int32Array
  samplingRows: SamplingRows
  /** Only of steps that compute placeholders of images and videos. */
  media?: StepMedia | undefined
}

/** The rows that need logits, and how a token is sampled from each. */
export interface SamplingRows {
  count: number
  /** Rows of the batch; padded to a multiple of `rowMultiple`. */
  rows: Int32Array
  /** Temperature, topK, topP, minP for each. */
  settings: Float64Array
  /** Key (two words) and counter of the random numbers, for each. */
  streams: Int32Array
  /** The token to score, or -1 to sample one. */
  targetIds: Int32Array
  /** Tokens that cannot be sampled: `forbiddenIds[forbiddenOffsets[i]..forbiddenOffsets[i + 1]]`, ascending. */
  forbiddenOffsets: Int32Array
  forbiddenIds: Int32Array
  /** How many of the likeliest tokens to return; -1: not even the sampled token's rank. */
  top: number
}

export interface StepResult {
  /** -1: the logits were not finite, or no token could be sampled. */
  ids: Int32Array
  raw: Float32Array
  processed: Float32Array
  /** `top + 1` columns: the sampled token's rank, then the likeliest tokens; and their log-probabilities. */
  topIds: Int32Array
  topLogprobs: Float32Array
}

export interface MultiStepDecode {
  steps: number
  syncInterval: number
  /** How many tokens each row may get. */
  budgets: Int32Array
}

/** Runs steps, one at a time, on the weights of a model. */
export interface StepDevice {
  /** Blocks of the KV cache; 0 while it is released. */
  readonly blocks: number
  step(batch: StepBatch): Promise<StepResult>
  /** Limits of `decodeMultiStep`: most steps, steps between two results, and most of the likeliest tokens. */
  readonly multiStep?: { steps: number; syncInterval: number; top: number }
  /**
   * Several decode steps without the host: the tokens of a step are the rows of the next one. For a batch whose rows are the last tokens of
   * sequences, and which `hasOnePosition`. Results come `syncInterval` steps at a time, in order, while the device computes the next steps.
   * After `enough` it starts no more steps and returns those it has started. A row takes part in as many steps as its budget; later results
   * are meaningless. It may end early. Optional: otherwise the engine calls `step`.
   */
  decodeMultiStep?(batch: StepBatch, options: MultiStepDecode): AsyncGenerator<StepResult, undefined, 'more' | 'enough'>
  /** Allocates at most this memory for the KV cache; `release` frees it. */
  allocate(cacheBytes: number): void
  release(): void
  dispose(): void
}

/** Batches are padded to a multiple of this: the CPU's matrix product takes four rows at a time. */
const rowMultiple = 4
export const padded = (rows: number): number => Math.ceil(rows / rowMultiple) * rowMultiple

export type StepProgram = Program<readonly ('tensor' | 'number')[], readonly Tensor[]>

/** The programs of a device's steps; each kind of step is recorded at its first use. */
export class Programs {
  private readonly known = new Map<string, StepProgram>()

  get(key: string, make: () => StepProgram): StepProgram {
    let program = this.known.get(key)
    if (!program) {
      program = make()
      this.known.set(key, program)
    }
    return program
  }

  dispose(): void {
    for (const program of this.known.values()) program.dispose()
    this.known.clear()
  }
}
