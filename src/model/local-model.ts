/** The contract of `TokenModel` over libtorch, in this process. Padding and packing stay inside. */
import type { DecoderParts, ModelConfig, Weight } from '../decoder/index.js'
import { adamWRates, type Device, type DType, NonFiniteGradientError, type Tensor } from '../tensor/index.js'
import type { Adapter } from './adapter.js'
import { BatchRunner } from './batch-runner.js'
import { ModelError, NonFiniteError } from './errors.js'
import { type Exported, exportModel, exportsOf, writeModel } from './export.js'
import { ForwardPrograms } from './forward-programs.js'
import { type LoadOptions, type ModelParts, randomModel, readModel, type Settings } from './loading.js'
import { LossScale } from './loss-scale.js'
import { sourcesWithMoreBits } from './masters.js'
import { idsOf, type ModelInput, readInputs, wantedPositions } from './model-input.js'
import { ModelOptimizer } from './optimizer.js'
import { flattenGradients, type Outputs, type Role, readOutputs, type ScoreOptions } from './outputs.js'
import { Parameters } from './parameters.js'
import { pooledPadding } from './pooling.js'
import { openReplacement } from './replace-weights.js'
import type { Invitation, Replicas } from './replicas.js'
import { openState, type TrainingIdentity, trainingIdentity, writeState } from './state.js'
import { StateTransfer } from './state-transfer.js'
import type {
  ExportOptions,
  ExportReport,
  ModelCapabilities,
  PolicyVersion,
  TokenModel,
  TrainStepOptions,
  TrainStepResult,
} from './token-model.js'
import {
  Accumulation,
  checkStepOptions,
  type LossGradient,
  type ReplicaTrainOptions,
  stepRates,
  type TrainCall,
  Turns,
} from './training.js'
import { VisionFeatures } from './vision-features.js'
import { checksumWeights, fillWeights } from './weights.js'

export class LocalModel<R extends Role = Role> implements TokenModel<R> {
  /** What a generation engine needs to use the same weights: it sees every update at once. */
  readonly parts: DecoderParts
  readonly role: R
  readonly config: ModelConfig
  readonly adapter: Adapter | undefined
  /** Where it was loaded from. */
  readonly source: string | undefined
  /** Where the tokenizer's files and the generation config of an export come from. */
  private readonly texts: string | undefined
  private readonly settings: Settings
  private readonly weights: Parameters
  private readonly forwardPrograms: ForwardPrograms
  private readonly runner: BatchRunner
  /** The vision tower, for an engine that samples with these weights. @internal */
  readonly vision: VisionFeatures | undefined
  private readonly optimizer: ModelOptimizer
  private readonly replicas: Replicas | undefined
  private readonly transfer: StateTransfer
  /** What `forwardBackward` was called with since the last step. */
  private readonly accumulation = new Accumulation<R>()
  private readonly turns = new Turns()
  /** Of dropout: with the version, where its random numbers are. */
  private seed: number
  private readonly lossScale: LossScale
  /** What a reward model's score passes over at the end of a sequence. */
  private readonly padding: number | undefined

  private constructor(parts: ModelParts<R>) {
    this.role = parts.role
    this.config = parts.config
    this.adapter = parts.adapter
    this.source = parts.source
    this.texts = parts.texts
    this.settings = parts.settings
    this.seed = parts.settings.seed
    this.lossScale = LossScale.for(parts.settings.dtype)
    this.padding = pooledPadding(parts.config, parts.adapter)
    this.weights = new Parameters(parts)
    this.replicas = parts.replicas
    this.optimizer = new ModelOptimizer(this.weights, parts.settings.optimizer, parts.masterSources, parts.replicas)
    this.transfer = new StateTransfer(this.weights, this.optimizer, parts.replicas)
    this.parts = this.weights.parts
    this.forwardPrograms = new ForwardPrograms(this.parts, this.settings.device)
    this.vision = parts.pixelScale && new VisionFeatures(this.parts, this.weights, this.settings, parts.pixelScale)
    this.runner = new BatchRunner(this.forwardPrograms, this.weights, this.role, this.settings, this.vision)
  }

  /**
   * Loads a Hugging Face model directory.
   *
   * ```ts
   * const actor = await LocalModel.load('Qwen2.5-0.5B', { role: 'language' })
   * const [scored] = await actor.score([await tokenizer.encode('Hello there')])
   * console.log(scored?.logprobs)
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
   * Changes with every change of the numbers a forward pass gives, for callers that keep something computed from them. Counts
   * from 0 in every process, and is not the version: a merged adapter is the same policy.
   */
  get weightsRevision(): number {
    return this.weights.revision
  }

  get vocabSize(): number {
    return this.config.decoder.vocabSize
  }

  /** Tokens a sequence may have. */
  get maxLength(): number {
    return this.config.decoder.context
  }

  get capabilities(): ModelCapabilities {
    const { adapter, merged } = this.weights
    return {
      train: !merged,
      adapterOff: adapter !== undefined && !merged,
      entropy: this.role === 'language',
      media: this.vision !== undefined,
      exports: exportsOf(this.weights),
      offload: true,
    }
  }

  /** Whether its weights are away from their device; see `offload`. */
  get offloaded(): boolean {
    return this.weights.offloaded
  }

  /** Why its weights must not be computed with, where a change of them failed part-way. */
  get broken(): string | undefined {
    return this.weights.broken
  }

  get device(): Device {
    return this.settings.device
  }

  get dtype(): DType {
    return this.settings.dtype
  }

  async score(given: readonly ModelInput[], options: ScoreOptions = {}): Promise<Outputs[R][]> {
    const sequences = readInputs(given)
    const results = new Array<Outputs[R]>(sequences.length)
    const wanted = wantedPositions(this.role, sequences, { ...options, padding: this.padding })
    const batches = this.runner.run(sequences, { ...options, wanted, answer: 'outputs' })
    let done = 0
    for await (const { plan, ranges, tensors } of batches) {
      const outputs = await readOutputs(this.role, plan, ranges, tensors)
      for (const [k, index] of plan.sequences.entries()) results[index] = outputs[k]!
      done += plan.sequences.length
      options.onProgress?.(done)
    }
    return results
  }

  /** The logits after each sequence's last token: what the next one would be drawn from. */
  async nextLogits(
    this: LocalModel<'language'>,
    given: readonly ModelInput[],
    options: Pick<ScoreOptions, 'adapter' | 'packing' | 'signal'> = {},
  ): Promise<Float32Array[]> {
    const sequences = readInputs(given)
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

  /** As the contract says; `lossGradient` is called once per batch with the sequences that are in it, and may take its time. */
  forwardBackward(
    sequences: readonly ModelInput[],
    lossGradient: LossGradient<R>,
    options: ReplicaTrainOptions = {},
  ): Promise<void> {
    return this.turns.pass('forwardBackward()', async () => {
      this.weights.refuseUnusable()
      if (this.weights.merged)
        throw new ModelError('the adapter was merged into the weights permanently and cannot be trained')
      const call = this.accumulation.begin(readInputs(sequences), options)
      try {
        await this.backpropagate(call, lossGradient)
      } catch (error) {
        this.accumulation.fail(error)
        throw error
      }
    })
  }

  private async backpropagate(
    { sequences, options, firstSequence, gradients }: TrainCall<R>,
    lossGradient: LossGradient<R>,
  ): Promise<void> {
    const wanted = wantedPositions(this.role, sequences, { ...options, padding: this.padding })
    const dropout = { seed: this.seed, step: this.version, firstSequence, numbers: options.numbers }
    const batches = this.runner.run(sequences, { ...options, wanted, dropout, answer: 'training' })
    for await (const { plan, ranges, tensors } of batches) {
      const outputs = await readOutputs(this.role, plan, ranges, tensors)
      const given = await lossGradient(outputs, plan.sequences)
      if (given.length !== outputs.length)
        throw new RangeError(`${outputs.length} outputs need as many gradients, got ${given.length}`)
      const flat = flattenGradients(this.role, plan, ranges, given, tensors.length)
      const scale = this.lossScale.value
      if (scale !== 1) for (const array of flat) for (let i = 0; i < array.length; i++) array[i]! *= scale
      await this.forwardPrograms.backward(tensors, flat)
      for (const [k, index] of plan.sequences.entries()) gradients.set(index, given[k]!)
    }
  }

  /**
   * Applies the accumulated gradients by AdamW and drops them. A gradient that is not finite stops before any weight
   * changes, and the sequence it came from is named; in float16 a smaller loss scale is tried first (`skipped`). An option that
   * is no number AdamW can work with is an error, too.
   */
  step(options: TrainStepOptions): Promise<TrainStepResult> {
    return this.turns.alone('step()', async () => {
      const groups = this.checkStep(options)
      const { clipNorm } = options
      this.accumulation.refuseHalf()
      const { value: lossScale, state: scaled } = this.lossScale
      const of = { groups, lossScale, ...(clipNorm !== undefined && { clipNorm }) }
      const shown = scaled ? { lossScale } : {}
      try {
        const { norm, changed } = await this.optimizer.step(of, this.seed)
        this.weights.revision++
        this.lossScale.grow()
        return { norm, version: ++this.weights.version, ...(changed !== undefined && { changed }), ...shown }
      } catch (error) {
        if (error instanceof NonFiniteGradientError && this.lossScale.shrink())
          return { norm: Number.POSITIVE_INFINITY, version: this.version, ...shown, skipped: true }
        throw await this.accumulation.blame(error, async (call, gradient) => {
          this.weights.zeroGrad()
          await this.backpropagate(call, () => [gradient])
          return this.weights.gradients()
        })
      } finally {
        this.dropGradients()
      }
    })
  }

  /** Refuses what keeps a step from being made; nothing has changed then. @internal */
  checkStep(options: TrainStepOptions): ReturnType<typeof stepRates> {
    checkStepOptions(options)
    const groups = stepRates(this.settings.optimizer, options)
    for (const rates of groups) adamWRates(rates)
    this.weights.refuseUnusable()
    return groups
  }

  /** Refuses inputs that a call cannot work with, by the sequence. @internal */
  checkInputs(sequences: readonly ModelInput[], options: ScoreOptions): void {
    this.weights.refuseUnusable()
    this.runner.check(sequences, options.temperature ?? 1)
    const wanted = wantedPositions(this.role, sequences, { ...options, padding: this.padding })
    for (const i of sequences.keys()) wanted(i)
  }

  /** Drops accumulated gradients. */
  zeroGrad(): void {
    this.turns.refuse('zeroGrad()')
    this.dropGradients()
  }

  private dropGradients(): void {
    this.accumulation.clear()
    this.weights.zeroGrad()
  }

  /** The accumulated gradients by the checkpoint's names; of float16 weights in float32. The caller disposes them. */
  gradients(): Map<string, Tensor> {
    const found = this.weights.gradients()
    if (!this.lossScale.state) return found
    return new Map([...found].map(([name, tensor]) => [name, this.lossScale.unscaled(tensor)]))
  }

  /**
   * Writes what others load, whole or not at all: the model, its adapter merged into a copy of the weights; the adapter alone,
   * in PEFT's format; or the weights without their adapter. Over an earlier export: the old one or the new one.
   */
  export(directory: string, options: ExportOptions): Promise<ExportReport> {
    return this.turns.alone('export()', async () => {
      this.weights.refuseUnusable()
      const wide = options.dtype === undefined ? undefined : await this.optimizer.masters('rank 0')
      return exportModel(directory, this.exported(wide?.masters), options).finally(() => wide?.release())
    })
  }

  /** Config and weights, into a directory that is there. @internal */
  async writeInto(directory: string): Promise<Pick<ExportReport, 'parameters' | 'bytes'>> {
    return writeModel(directory, this.exported(), { what: 'model' })
  }

  private exported(masters: Exported['masters'] = new Map()): Exported {
    const { role, config, weights, source, texts, padding } = this
    return { role, config, weights, masters, source, texts, padding, dtype: this.settings.dtype }
  }

  /**
   * Writes one directory, whole or not at all, from which `loadState` of a model of the same shape continues bit for bit:
   * what is trained, float32 copies, moments, step counts, the version, and the position of dropout's random numbers.
   */
  saveState(directory: string): Promise<void> {
    return this.turns.alone('saveState()', async () => {
      this.weights.refuseUnusable()
      if (!this.accumulation.empty)
        throw new ModelError('a saved state does not include pending gradients; call step() or zeroGrad() first')
      const { version, seed, weights, optimizer } = this
      const training = await this.training()
      const saved = optimizer.saved()
      await writeState(directory, {
        ...{ training, version, seed, optimizer: saved },
        lossScale: this.lossScale.state,
        weights: weights.trained(),
      }).finally(() => saved?.release())
    })
  }

  /** Takes over a state that `saveState` wrote. One of another training is refused, by what differs, and changes nothing. */
  loadState(directory: string): Promise<void> {
    return this.turns.alone('loadState()', async () => {
      this.weights.refuseOffloaded()
      const { optimizer, replicas } = this
      const training = await this.training()
      const state = await optimizer.opening(expected =>
        openState(directory, training, { weights: this.weights.trained(), optimizer: expected }),
      )
      try {
        const failure = `loadState(${JSON.stringify(directory)}) failed part-way, and the weights are now a mix; load a state again`
        const { version, seed, lossScale, hasOptimizer } = state
        replicas?.invite({ what: 'load', hasOptimizer, failure })
        if (!hasOptimizer) optimizer.drop()
        await this.weights.rewrite(
          () => state.read((of, name, tensor) => this.transfer.place(of, name, tensor)),
          failure,
        )
        replicas?.invite({ what: 'loaded', version, seed, lossScale })
        await this.adoptState({ version, seed, lossScale })
      } finally {
        await state.close()
      }
    })
  }

  private async adoptState({ version, seed, lossScale }: Omit<Invitation & { what: 'loaded' }, 'what'>): Promise<void> {
    await this.optimizer.refresh()
    this.weights.version = version
    this.seed = seed
    this.lossScale.state = lossScale
    this.dropGradients()
  }

  /** Takes part in what rank 0 does with the model that all ranks hold. @internal */
  async join(invitation: Invitation): Promise<void> {
    switch (invitation.what) {
      case 'gather':
        return (await this.optimizer.gather(invitation.name)).dispose()
      case 'load':
        this.weights.beginRewrite(invitation.failure)
        if (!invitation.hasOptimizer) this.optimizer.drop()
        return
      case 'place':
        return this.transfer.receive(invitation.of, invitation.name)
      case 'loaded':
        this.weights.endRewrite()
        return this.adoptState(invitation)
    }
  }

  private training(): Promise<TrainingIdentity> {
    const { role, config, adapter, settings, weights } = this
    return trainingIdentity({ role, config, adapter, settings, weights })
  }

  /**
   * Permanently adds the adapter to the weights: the same policy without the adapter's cost. It can no longer be trained,
   * left out or written apart.
   */
  mergeAdapter(): Promise<void> {
    return this.turns.alone('mergeAdapter()', () => this.weights.mergeAdapter())
  }

  /** Takes over another model's weights, its adapter's where both have one, and its version; cast to this one's dtype. */
  copyFrom(other: LocalModel): Promise<void> {
    return this.turns.alone('copyFrom()', async () => {
      await this.weights.copyFrom(other.weights)
      // Old masters would restore the old weights at the next step.
      this.optimizer.drop()
      this.optimizer.masterSources = []
    })
  }

  /**
   * Takes over the weights of a Hugging Face directory, where these lie: a program or an engine that holds them goes on with the
   * new ones. A directory that does not fit is refused and changes nothing. No second copy of the weights is made, so that a disk
   * that fails half-way leaves half of each: nothing is computed with them until a directory was read whole.
   */
  loadWeights(directory: string, options: Pick<LoadOptions<R>, 'signal' | 'onProgress'> = {}): Promise<void> {
    return this.turns.alone('loadWeights()', async () => {
      const { weights, config } = this
      weights.refuseOffloaded()
      if (weights.adapter && !weights.merged)
        throw new ModelError('these weights have an adapter in training and cannot be replaced')
      const { checkpoint, map } = await openReplacement(directory, { config, role: this.role })
      try {
        const failure = `loadWeights(${JSON.stringify(directory)}) failed part-way, and the weights are now a mix; load weights again`
        const target = ({ name }: Weight): Tensor => weights.tensors.get(name)!
        await weights.rewrite(() => fillWeights(checkpoint, map, target, options), failure)
        this.optimizer.drop()
        this.optimizer.masterSources = await sourcesWithMoreBits([directory], this.settings.dtype)
        this.dropGradients()
      } finally {
        await checkpoint.close()
      }
    })
  }

  /** Becomes a moving average of another model: `decay` times its own numbers plus the rest of the other's. */
  average(other: LocalModel<R>, { decay }: { decay: number }): Promise<void> {
    if (!(decay >= 0 && decay <= 1)) throw new RangeError(`decay is a share between 0 and 1, got ${decay}`)
    return this.turns.alone('average()', async () => {
      const { masters, release } = await other.optimizer.masters('together')
      await this.weights.average(other.weights, masters, decay).finally(release)
    })
  }

  /** A fingerprint of the weights: equal for equal bits. */
  checksum(): Promise<string> {
    return checksumWeights(this.weights.weightMap, this.weights.tensors)
  }

  /** As `checksum`, in one pass on the device: for copies of one model that must be alike. @internal */
  fingerprint(): Promise<string> {
    return this.weights.allFingerprint()
  }

  /**
   * Moves everything the model holds on its device to CPU memory: weights, adapter, gradients, float32 copies and moments.
   * `reload` brings them back, bit for bit; anything else in between is an error that says so. What is left on the device
   * shows `memoryUse(device)`: the libraries' own work space.
   */
  offload(): Promise<void> {
    return this.turns.alone('offload()', async () => {
      if (this.weights.offloaded) return
      this.forwardPrograms.releaseTables()
      this.vision?.release()
      await this.weights.offload(this.optimizer.held())
    })
  }

  reload(): Promise<void> {
    return this.turns.alone('reload()', async () => {
      if (this.weights.offloaded) await this.weights.reload(this.optimizer.held())
    })
  }

  dispose(): void {
    this.forwardPrograms.dispose()
    this.vision?.dispose()
    this.optimizer.dispose()
    this.weights.dispose()
  }
}
