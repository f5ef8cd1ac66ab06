/** What a training step needs beside the gradients: the optimiser, and where they came from. */
import {
  type AdamWOptions,
  adamWRates,
  checkClipNorm,
  NonFiniteGradientError,
  scope,
  type Tensor,
} from '../tensor/index.js'
import { ModelError, NonFiniteError } from './errors.js'
import type { OptimizerOptions } from './loading.js'
import type { ModelInput } from './model-input.js'
import type { Gradients, Outputs, Role, TrainOptions } from './outputs.js'
import type { TrainStepOptions } from './token-model.js'

/** Refuses, as a `RangeError`, what AdamW cannot work with: a number that is none would reach the weights. */
export function checkStepOptions(options: TrainStepOptions): void {
  adamWRates(options)
  checkClipNorm(options.clipNorm)
}

/** The options of one step of the two groups of a model, what decays and what does not, in their order. */
export function stepRates(settings: OptimizerOptions, options: TrainStepOptions): [AdamWOptions, AdamWOptions] {
  const { betas = settings.betas, eps = settings.eps, weightDecay = settings.weightDecay, lr } = options
  const rates = { lr, ...(betas && { betas }), ...(eps !== undefined && { eps }) }
  return [{ ...rates, ...(weightDecay !== undefined && { weightDecay }) }, rates]
}

/** Options of a call with a part of a batch whose other parts are with other ranks. */
export interface ReplicaTrainOptions extends TrainOptions {
  /** The place of each sequence among all since the last step; what an adapter drops depends on it. */
  numbers?: readonly number[]
}

/** Gradients for the outputs of some sequences; those of other ranks come from elsewhere, and later. */
export type LossGradient<R extends Role> = (
  outputs: readonly Outputs[R][],
  indices: readonly number[],
) => readonly Gradients[R][] | Promise<readonly Gradients[R][]>

/** A call of `forwardBackward`. */
export interface TrainCall<R extends Role> {
  sequences: readonly ModelInput[]
  options: ReplicaTrainOptions
  /** Sequences of earlier calls since the last step. */
  firstSequence: number
  /** Of the loss, by sequence. */
  gradients: Map<number, Gradients[R]>
}

/** The calls behind the gradients that a step will apply, and whether all of them were computed to their end. */
export class Accumulation<R extends Role> {
  private calls: TrainCall<R>[] = []
  private sequences = 0
  private failure: { cause: unknown } | undefined

  get empty(): boolean {
    return this.calls.length === 0
  }

  begin(sequences: readonly ModelInput[], options: ReplicaTrainOptions): TrainCall<R> {
    const call: TrainCall<R> = { sequences, options, firstSequence: this.sequences, gradients: new Map() }
    this.sequences += sequences.length
    this.calls.push(call)
    return call
  }

  fail(cause: unknown): void {
    this.failure ??= { cause }
  }

  refuseHalf(): void {
    if (this.failure)
      throw new ModelError(
        'a forwardBackward since the last step failed and left half a batch; call zeroGrad() to drop it',
        this.failure,
      )
  }

  clear(): void {
    this.calls = []
    this.sequences = 0
    this.failure = undefined
  }

  /**
   * Finds the sequence behind a gradient that is not finite: `replay` computes a call again, here with one sequence, and
   * gives its gradients. Where none alone has one, the error stays what it was.
   */
  async blame(
    error: unknown,
    replay: (call: TrainCall<R>, gradient: Gradients[R]) => Promise<ReadonlyMap<string, Tensor>>,
  ): Promise<unknown> {
    if (!(error instanceof NonFiniteGradientError)) return error
    for (const [number, { sequences, options, firstSequence, gradients }] of this.calls.entries()) {
      const { from, groupSize: _, signal: __, numbers, ...rest } = options
      for (const [index, gradient] of gradients) {
        const first = typeof from === 'object' ? from[index] : from
        const place = numbers && { numbers: [numbers[index]!] }
        const single: TrainCall<R> = {
          sequences: [sequences[index]!],
          options: { ...rest, ...place, ...(first === undefined ? {} : { from: first }) },
          firstSequence: firstSequence + index,
          gradients: new Map(),
        }
        const found = await replay(single, gradient)
        const finite = scope(() => [...found.values()].every(own => own.isfinite().all().item() !== 0))
        for (const own of found.values()) own.dispose()
        if (!finite)
          return new NonFiniteError('the gradient', index, {
            cause: error,
            ...(this.calls.length > 1 && { call: number + 1 }),
          })
      }
    }
    return error
  }
}

/** Keeps apart what would see each other's half-done work: passes may overlap, anything that changes the model may not. */
export class Turns {
  private passes = 0
  private change: string | undefined

  async pass<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.change) throw new ModelError(`${this.change} is under way; await it before ${what}`)
    this.passes++
    try {
      return await work()
    } finally {
      this.passes--
    }
  }

  async alone<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.refuse(what)
    this.change = what
    try {
      return await work()
    } finally {
      this.change = undefined
    }
  }

  refuse(what: string): void {
    const busy = this.change ?? (this.passes > 0 ? 'forwardBackward()' : undefined)
    if (busy) throw new ModelError(`${busy} is under way; await it before ${what}`)
  }
}
