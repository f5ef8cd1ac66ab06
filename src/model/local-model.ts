/**
 * One contract for actor, critic, reference and reward model: token sequences in, numbers per token (or per sequence) out;
 * gradients of those numbers in, trained weights out. Padding and packing stay inside.
 */

import { architectureName, checkpointViews, type DecoderParts, type ModelConfig } from '../decoder/index.js'
import {
  type AdamW,
  type Device,
  type DType,
  NonFiniteGradientError,
  type StepOptions,
  type Tensor,
  type Update,
  unscoped,
} from '../tensor/index.js'
import type { Adapter } from './adapter.js'
import { BatchRunner } from './batch-runner.js'
import { ModelError, NonFiniteError } from './errors.js'
import { ForwardPrograms } from './forward-programs.js'
import { headOf, type LoadOptions, type ModelParts, randomModel, readModel, type Settings } from './loading.js'
import {
  flattenGradients,
  type Gradients,
  type Outputs,
  type Role,
  readOutputs,
  type ScoreOptions,
  type TrainOptions,
  wantedPositions,
} from './outputs.js'
import { Parameters } from './parameters.js'
import { saveModel } from './save.js'
import { idsOf, type Sequence } from './sequence.js'
import type { PolicyVersion } from './token-model.js'
import { blame, makeAdamW, type TrainCall } from './training.js'
import { checksumWeights } from './weights.js'

export class LocalModel<R extends Role = Role> {
  /** What a generation engine needs to run the same weights: it sees every update the moment it is made. */
  readonly parts: DecoderParts
  readonly role: R
  readonly config: ModelConfig
  readonly adapter: Adapter | undefined
  /** Where it was loaded from: the tokenizer's files are copied from there. */
  readonly source: string | undefined
  private readonly settings: Settings
  private readonly weights: Parameters
  private readonly forwardPrograms: ForwardPrograms
  private readonly runner: BatchRunner
  /** Made when it is first needed: a model that only scores has none. */
  private optimizer: AdamW | undefined
  /** What `forwardBackward` was called with since the last step. */
  private calls: TrainCall<R>[] = []

  private constructor(parts: ModelParts<R>) {
    this.role = parts.role
    this.config = parts.config
    this.adapter = parts.adapter
    this.source = parts.source
    this.settings = parts.settings
    this.weights = new Parameters(parts)
    this.parts = this.weights.parts
    this.forwardPrograms = new ForwardPrograms(this.parts, this.settings.device)
    this.runner = new BatchRunner(this.forwardPrograms, this.weights, this.role, this.settings)
  }

  /**
   * Loads a Hugging Face model directory.
   *
   * ```ts
   * const actor = await LocalModel.load('Qwen2.5-0.5B', { role: 'language' })
   * const [{ logprobs }] = await actor.score([tokenizer.encode('Hello there')])
   * ```
   */
  static async load<R extends Role = Role>(directory: string, options: LoadOptions<R> = {}): Promise<LocalModel<R>> {
    return new LocalModel(await readModel(directory, options))
  }

  /** A model with random weights. */
  static async create<R extends Role>(
    config: ModelConfig,
    options: Omit<LoadOptions<R>, 'role'> & { role: R; seed: number },
  ): Promise<LocalModel<R>> {
    return new LocalModel(await randomModel(config, options))
  }

  /** Counts optimiser steps: saved, restored and copied with the weights. */
  get version(): PolicyVersion {
    return this.weights.version
  }

  /**
   * Changes with every change of the numbers a forward pass gives, for whoever keeps something computed from them. Counts
   * from 0 in every process, and is not the version: a merged adapter is the same policy.
   */
  get weightsRevision(): number {
    return this.weights.revision
  }

  /** Whether its weights are away from their device; see `offload`. */
  get offloaded(): boolean {
    return this.weights.offloaded
  }

  get device(): Device {
    return this.settings.device
  }

  get dtype(): DType {
    return this.settings.dtype
  }

  /** What each token, or sequence, is given by this model; one entry per sequence, in their order. */
  async score(sequences: readonly Sequence[], options: ScoreOptions = {}): Promise<Outputs[R][]> {
    const results = new Array<Outputs[R]>(sequences.length)
    const wanted = wantedPositions(this.role, sequences, options.from)
    const batches = this.runner.run(sequences, { ...options, wanted, answer: 'outputs' })
    let done = 0
    for await (const { plan, counts, tensors } of batches) {
      const outputs = await readOutputs(this.role, plan, counts, tensors)
      for (const [k, index] of plan.sequences.entries()) results[index] = outputs[k]!
      done += plan.sequences.length
      options.onProgress?.(done)
    }
    return results
  }

  /** The logits after each sequence's last token: what the next one would be drawn from. */
  async nextLogits(
    this: LocalModel<'language'>,
    sequences: readonly Sequence[],
    options: Pick<ScoreOptions, 'adapter' | 'packing' | 'signal'> = {},
  ): Promise<Float32Array[]> {
    if (this.role !== 'language') throw new ModelError(`a ${this.role as string} model has no logits`)
    const { vocabSize } = this.config.decoder
    const results = new Array<Float32Array>(sequences.length)
    const wanted = (i: number) => {
      const { length } = idsOf(sequences[i]!)
      return { start: length - 1, end: length }
    }
    const batches = this.runner.run(sequences, { ...options, wanted, answer: 'logits' })
    for await (const { plan, tensors } of batches) {
      const flat = await tensors[0]!.data<'float32'>()
      for (const [k, index] of plan.sequences.entries()) {
        const row = flat.slice(k * vocabSize, (k + 1) * vocabSize)
        if (row.some(value => !Number.isFinite(value))) throw new NonFiniteError('the output', index)
        results[index] = row
      }
    }
    return results
  }

  /**
   * Computes outputs with gradients recorded, asks `lossGradient` for the gradient of the loss with respect to them, and
   * adds what follows to the parameters' gradients. Called once per batch with the sequences that are in it; what it
   * returns must not depend on how they were split. `step` applies the sum over all calls.
   */
  async forwardBackward(
    sequences: readonly Sequence[],
    lossGradient: (outputs: readonly Outputs[R][], indices: readonly number[]) => readonly Gradients[R][],
    options: TrainOptions = {},
  ): Promise<void> {
    if (this.weights.merged)
      throw new ModelError('the adapter was merged into the weights for good; it cannot be trained any more')
    const call: TrainCall<R> = { sequences, options, gradients: new Map() }
    this.calls.push(call)
    const wanted = wantedPositions(this.role, sequences, options.from)
    const batches = this.runner.run(sequences, { ...options, wanted, answer: 'training' })
    for await (const { plan, counts, tensors } of batches) {
      const outputs = await readOutputs(this.role, plan, counts, tensors)
      const given = lossGradient(outputs, plan.sequences)
      if (given.length !== outputs.length)
        throw new RangeError(`${outputs.length} outputs need as many gradients, got ${given.length}`)
      await this.forwardPrograms.backward(tensors, flattenGradients(this.role, plan, counts, given, tensors.length))
      for (const [k, index] of plan.sequences.entries()) call.gradients.set(index, given[k]!)
    }
  }

  /**
   * Applies the accumulated gradients by AdamW and drops them. A gradient that is not finite stops before any weight
   * changes, and the sequence it came from is named.
   */
  async step(options: { lr: number } & Pick<StepOptions, 'clipNorm'>): Promise<Update> {
    const { lr, ...rest } = options
    try {
      const update = await this.adamW().step({ ...rest, lrScale: lr })
      this.weights.version++
      this.weights.revision++
      return update
    } catch (error) {
      throw error instanceof NonFiniteGradientError ? await blame(this, this.calls, error) : error
    } finally {
      this.zeroGrad()
    }
  }

  private adamW(): AdamW {
    this.optimizer ??= makeAdamW(this.weights, this.settings.optimizer)
    return this.optimizer
  }

  /** AdamW's moments, for a checkpoint; see `AdamW.state`. */
  optimizerState(): Map<string, Tensor> {
    return this.adamW().state()
  }

  loadOptimizerState(saved: ReadonlyMap<string, Tensor>): void {
    this.adamW().load(saved)
  }

  /** Drops accumulated gradients. */
  zeroGrad(): void {
    this.calls = []
    this.adamW().zeroGrad()
  }

  /** The accumulated gradients by the checkpoint's names. The caller disposes them. */
  gradients(): Map<string, Tensor> {
    return this.weights.gradients()
  }

  /** Writes a directory that transformers loads: weights, config, tokenizer, generation config. An adapter is not part of it. */
  async save(directory: string, options: { maxShardBytes?: number } = {}): Promise<void> {
    const { family } = this.config.decoder
    const raw: Record<string, unknown> = {
      ...this.config.raw,
      architectures: [architectureName(family, headOf(this.role))],
      dtype: this.settings.dtype,
    }
    delete raw.torch_dtype
    if (this.role !== 'language') Object.assign(raw, { id2label: { 0: 'LABEL_0' }, label2id: { LABEL_0: 0 } })
    const views = unscoped(() => checkpointViews(this.weights.weightMap, this.weights.tensors))
    try {
      await saveModel(directory, { config: raw, tensors: views, source: this.source, ...options })
    } finally {
      for (const view of views.values()) view.dispose()
    }
  }

  /** Writes the adapter alone, in PEFT's format. */
  async saveAdapter(directory: string): Promise<void> {
    if (!this.adapter) throw new ModelError('this model has no adapter')
    await this.adapter.save(directory, { base: this.source ?? '', head: this.weights.tensors.get('score.weight') })
  }

  /**
   * Adds the adapter into the weights, for good: the same policy without the adapter's cost. It can no longer be trained,
   * left out or written apart.
   */
  mergeAdapter(): Promise<void> {
    return this.weights.mergeAdapter()
  }

  /** Takes over another model's weights, its adapter's where both have one, and its version; cast to this one's dtype. */
  async copyFrom(other: LocalModel): Promise<void> {
    await this.weights.copyFrom(other.weights)
    // Float32 copies of the weights before would bring them back at the next step.
    this.optimizer?.dispose()
    this.optimizer = undefined
  }

  /** A fingerprint of the weights: equal for equal bits. */
  checksum(): Promise<string> {
    return checksumWeights(this.weights.weightMap, this.weights.tensors)
  }

  /** Moves the weights to CPU memory; `reload` brings them back. Scoring in between is an error that says so. */
  offload(): Promise<void> {
    return this.weights.offload()
  }

  reload(): Promise<void> {
    return this.weights.reload()
  }

  dispose(): void {
    this.forwardPrograms.dispose()
    this.optimizer?.dispose()
    this.weights.dispose()
  }
}
