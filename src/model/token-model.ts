/**
 * One contract for actor, critic, reference and reward model: token sequences in, numbers per token (or per sequence) out;
 * gradients of those numbers in, trained weights out. Padding, packing, devices and libtorch stay behind it: `LocalModel`
 * keeps it in this process, a training server over HTTP.
 */
import type { ModelInput } from './model-input.js'
import type { Gradients, Outputs, Role, ScoreOptions, TrainOptions } from './outputs.js'

/** Counts the optimiser steps of a policy: saved with it, and the same for the same numbers. */
export type PolicyVersion = number

/** What a model can do beyond scoring text; known before a run starts. */
export interface ModelCapabilities {
  /** `forwardBackward` and `step`. */
  train: boolean
  /** `score` with `adapter: 'off'`: a LoRA actor is its own reference. */
  adapterOff: boolean
  /** Entropies beside log-probabilities. */
  entropy: boolean
  /** Sequences with images or videos. */
  media: boolean
  /** What `export` can write. */
  exports: readonly ExportOptions['what'][]
  /** `offload` and `reload` free a device for others. */
  offload: boolean
}

/** The options of one AdamW step; those left out are the model's. All are numbers that float32 holds (`checkStepOptions`). */
export interface TrainStepOptions {
  /** At least 0. */
  lr: number
  /** Gradients are scaled down to this norm where theirs is larger; more than 0. */
  clipNorm?: number
  /** Each at least 0 and below 1. */
  betas?: readonly [number, number]
  /** More than 0. */
  eps?: number
  /** At least 0. Of weights that decay: a model may exempt some kinds. */
  weightDecay?: number
}

export interface TrainStepResult {
  /** Of all gradients together, before clipping; not finite where the step was skipped. */
  norm: number
  /** The version of the weights after the step. */
  version: PolicyVersion
  /**
   * The share of 16-bit weights that changed; resolves when the device has made the step, which the next pass need not wait for.
   * Left out where the weights have more bits, or a server does not say.
   */
  changed?: Promise<number>
  /** float16: what the loss was multiplied with, so that small gradients are not rounded to zero. */
  lossScale?: number
  /**
   * float16: a gradient overflowed, and no weight changed. The loss scale of the next pass is half of this one's; repeat the
   * batch, or go on with the next.
   */
  skipped?: true
}

export interface ExportOptions {
  /**
   * `model`: a Hugging Face directory of the whole model, an adapter merged into a copy of the weights. `adapter`: the
   * adapter alone, in PEFT's format. `base`: a model with an adapter, written without it.
   */
  what: 'model' | 'adapter' | 'base'
  /**
   * `float32`: 16-bit weights that are trained are written as their float32 masters, with all digits that training gave them; other
   * weights are widened. Default: the weights as they are computed with, which are the rounded masters.
   */
  dtype?: 'float32'
  maxShardBytes?: number
}

export interface ExportReport {
  directory: string
  what: ExportOptions['what']
  /** `model` of a LoRA model: its adapter is part of what was written. */
  merged: boolean
  parameters: number
  bytes: number
}

/**
 * @example
 * async function perplexity(model: TokenModel<'language'>, sequences: ModelInput[]): Promise<number> {
 *   const outputs = await model.score(sequences)
 *   const all = outputs.flatMap(({ logprobs }) => [...logprobs])
 *   return Math.exp(-all.reduce((sum, logprob) => sum + logprob, 0) / all.length)
 * }
 */
export interface TokenModel<R extends Role = Role> {
  readonly role: R
  readonly version: PolicyVersion
  readonly vocabSize: number
  /** Tokens a sequence may have. */
  readonly maxLength: number
  readonly capabilities: ModelCapabilities

  /**
   * What each token, or sequence, is given by this model; one entry per input, in their order. A `Sequence` has one number per
   * trained token, and needs at least one (but for a reward model, which gives one number for the whole).
   */
  score(sequences: readonly ModelInput[], options?: ScoreOptions): Promise<Outputs[R][]>

  /**
   * Computes outputs with gradients recorded, asks `lossGradient` for the gradient of the loss with respect to them, and
   * adds what follows to the parameters' gradients. Called once per batch with the sequences that are in it; what it
   * returns must not depend on how they were split. `step` applies the sum over all calls. A call that throws leaves half a
   * batch behind, so `step` is refused until `zeroGrad`.
   */
  forwardBackward(
    sequences: readonly ModelInput[],
    lossGradient: (outputs: readonly Outputs[R][], indices: readonly number[]) => readonly Gradients[R][],
    options?: TrainOptions,
  ): Promise<void>

  /**
   * Applies the accumulated gradients by AdamW and drops them. A gradient that is not finite stops before any weight
   * changes, and the sequence it came from is named; in float16 a smaller loss scale is tried first (`skipped`). An option out of its range is a `RangeError`: nothing has changed, and
   * the gradients are still there.
   */
  step(options: TrainStepOptions): Promise<TrainStepResult>

  /** Drops accumulated gradients. */
  zeroGrad(): void

  /**
   * Writes one directory, whole or not at all, from which `loadState` of a model of the same shape continues bit for bit.
   * Between steps: gradients that wait for one are not part of it, and refuse it.
   */
  saveState(directory: string): Promise<void>
  /** Takes over a state. One of another shape, role or optimiser is refused by what differs, and nothing has changed. */
  loadState(directory: string): Promise<void>

  /**
   * Writes what others load, one of `capabilities.exports`. Over an earlier export: the old one or the new one, never a
   * mixture.
   */
  export(directory: string, options: ExportOptions): Promise<ExportReport>

  /** Moves everything the model holds on its device away; `reload` brings it back, bit for bit. In between all else is refused. */
  offload(): Promise<void>
  reload(): Promise<void>

  dispose(): void
}
