/**
 * The device's side of one engine step: arrays of whole numbers in, sampled tokens out. Everything a sequence is lives on
 * the other side of this line, in the scheduler and the engine; everything a tensor is lives on this one.
 */
import type { Program, Tensor } from '../../tensor/index.js'

/**
 * Rows are tokens. A row with sequence -1 fills the batch up: it computes nothing that anyone reads.
 *
 * Where a token stands is said three times, and for text by the same number: how far rope turns it (`ropePositions`), what it
 * sees (`kvPositions`; `slotMapping` says where that lies), and which random number is drawn after it (`SamplingRows.streams`).
 * Images have many tokens and few rope positions, so no two of them may stand for each other.
 */
export interface StepBatch {
  ids: Int32Array
  /** How far each row's query and key are turned. */
  ropePositions: Int32Array
  /** Each row's place among the tokens of its sequence: it sees those up to itself. */
  kvPositions: Int32Array
  /** Each row's sequence, as a row of `blockTable`. */
  sequences: Int32Array
  /** Where each row's key and value go: block * 16 + offset; -1: nowhere. */
  slotMapping: Int32Array
  /** The blocks of each sequence, `blockTableWidth` entries each; what is past a sequence's last block is not read. */
  blockTable: Int32Array
  blockTableWidth: number
  /** Blocks to copy before anything else. */
  copyFrom: Int32Array
  copyTo: Int32Array
  samplingRows: SamplingRows
}

/** The rows whose logits are wanted, and how a token is drawn from each. */
export interface SamplingRows {
  count: number
  /** Rows of the batch; filled up to a whole number of `rowMultiple`. */
  rows: Int32Array
  /** Temperature, topK, topP, minP for each. */
  settings: Float64Array
  /** The random stream's key, two words, and the counter, for each. */
  streams: Int32Array
  /** The token whose log-probability is wanted, or -1 to draw one. */
  targetIds: Int32Array
  /** Tokens that cannot be drawn: `forbiddenIds[forbiddenOffsets[i]..forbiddenOffsets[i + 1]]`, ascending. */
  forbiddenOffsets: Int32Array
  forbiddenIds: Int32Array
  /** How many of the likeliest tokens are wanted; -1: not even the drawn one's rank. */
  top: number
}

export interface StepResult {
  /** -1: the logits were not finite, or nothing could be drawn. */
  ids: Int32Array
  raw: Float32Array
  processed: Float32Array
  /** `top + 1` columns: the drawn token's rank, then the likeliest tokens; with log-probabilities beside them. */
  topIds: Int32Array
  topLogprobs: Float32Array
}

export interface MultiStepDecode {
  steps: number
  syncInterval: number
  /** How many tokens each row may get. */
  budgets: Int32Array
}

/** Runs steps, one at a time, on weights that belong to a model. */
export interface StepDevice {
  /** Blocks the KV cache has; 0 while it is released. */
  readonly blocks: number
  step(batch: StepBatch): Promise<StepResult>
  /** How many steps `decodeMultiStep` takes at most, how many between two looks, and how many of the likeliest tokens it can give. */
  readonly multiStep?: { steps: number; syncInterval: number; top: number }
  /**
   * Several steps of a batch whose rows are the last tokens of sequences, each drawing the next, and which `hasOnePosition`:
   * every step's tokens are the
   * rows of the next, so the device need not wait for anyone. Results come `syncInterval` steps at a time, those of one step after
   * those of the step before; by then the next steps are under way. Told `enough`, it starts no more, and gives what is
   * under way. A row takes part in as many steps as its budget has, and its blocks reach as far; what it has afterwards
   * means nothing. It may end sooner than asked. A device without this is asked
   * step by step.
   */
  decodeMultiStep?(batch: StepBatch, options: MultiStepDecode): AsyncGenerator<StepResult, undefined, 'more' | 'enough'>
  /** Takes memory for the KV cache, so many bytes at most, and gives it back. */
  allocate(cacheBytes: number): void
  release(): void
  dispose(): void
}

/** Batches are filled up to a whole number of these: the CPU's matrix product takes four rows at a time. */
export const rowMultiple = 4
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
