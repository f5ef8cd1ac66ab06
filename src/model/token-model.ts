/**
 * One contract for actor, critic, reference and reward model: token sequences in, numbers per token (or per sequence) out;
 * gradients of those numbers in, trained weights out. Padding and packing stay inside.
 */
import {
  AdamW,
  type Device,
  type DType,
  NonFiniteGradientError,
  type StepOptions,
  scope,
  type Tensor,
  type Update,
  unscoped,
} from '../tensor/index.js'
import { fusedOps } from '../tensor/kernels/fused-ops.js'
import type { Adapter } from './adapter.js'
import { shortLength } from './attention.js'
import { type BatchPlan, fillBatch, planBatches } from './batch.js'
import { architectureName, type ModelConfig, readConfig } from './config.js'
import type { DecoderParts, LowRank } from './decoder.js'
import { ModelError, NonFiniteError } from './errors.js'
import { planHead } from './head.js'
import { checkpointViews, layout, projections, type Weight } from './layout.js'
import {
  headOf,
  initializeHead,
  type LoadOptions,
  openAdapter,
  refuseNothingToTrain,
  type Settings,
  settingsOf,
  trains,
} from './loading.js'
import {
  flattenGradients,
  type Gradients,
  type Outputs,
  type Role,
  readOutputs,
  type ScoreOptions,
  type Sequence,
  type TrainOptions,
  wantedPositions,
} from './outputs.js'
import { Passes, type PassHead, type PassOptions } from './passes.js'
import { saveModel } from './save.js'
import { checksumWeights, initializeWeights, once, readWeights } from './weights.js'

interface TrainCall<R extends Role> {
  sequences: readonly Sequence[]
  options: TrainOptions
  /** Of the loss, by sequence. */
  gradients: Map<number, Gradients[R]>
}

export class TokenModel<R extends Role = Role> {
  /** What a generation engine needs to run the same weights: it sees every update the moment it is made. */
  readonly parts: DecoderParts
  private readonly weights: readonly Weight[]
  private readonly passes: Passes
  private optimizer: AdamW | undefined
  private merged: Map<string, Tensor> | undefined
  private away = false
  private moves = 0
  /** What `forwardBackward` was called with since the last step. */
  private calls: TrainCall<R>[] = []
  private steps = 0

  private constructor(
    readonly role: R,
    readonly config: ModelConfig,
    private readonly tensors: ReadonlyMap<string, Tensor>,
    readonly adapter: Adapter | undefined,
    private readonly settings: Settings,
    /** Where it was loaded from: the tokenizer's files are copied from there. */
    readonly source: string | undefined,
  ) {
    this.weights = layout(config.decoder, headOf(role))
    const lookup: DecoderParts['adapter'] = adapter && ((layer, projection) => adapter.lowRank(layer, projection))
    const isMerged = (): boolean => this.merged !== undefined
    this.parts = {
      config: config.decoder,
      weights: tensors,
      ops: fusedOps(settings),
      // Once it is part of the weights it must not be added again.
      get adapter() {
        return isMerged() ? undefined : lookup
      },
      recompute: settings.recompute,
      moves: () => this.moves,
    }
    this.passes = new Passes(this.parts, settings.device)
    for (const [name, tensor] of tensors) tensor.requiresGrad = trains(name, role, adapter, settings)
    if (adapter) for (const tensor of adapter.tensors().values()) tensor.requiresGrad = true
  }

  /**
   * Loads a Hugging Face model directory.
   *
   * ```ts
   * const actor = await TokenModel.load('Qwen2.5-0.5B', { role: 'language' })
   * const [{ logprobs }] = await actor.score([tokenizer.encode('Hello there')])
   * ```
   */
  static async load<R extends Role = Role>(directory: string, options: LoadOptions<R> = {}): Promise<TokenModel<R>> {
    const config = await readConfig(directory)
    const role = options.role ?? ((config.head === 'language' ? 'language' : 'reward') as R)
    if (role === 'language' && config.head === 'score')
      throw new ModelError(`${directory} holds a reward model, which has no logits`)
    const settings = settingsOf(options)
    refuseNothingToTrain(role, config, settings)
    const weights = layout(config.decoder, headOf(role))
    const { tensors, missing } = await readWeights(directory, weights, {
      ...settings,
      optional: name => name === 'score.weight' && config.head === 'language',
      // A tied or replaced output matrix, and frequencies that old checkpoints carry, have no place here.
      ignored: name => name === 'lm_head.weight' || name.endsWith('.rotary_emb.inv_freq'),
      ...(options.signal ? { signal: options.signal } : {}),
      ...(options.onProgress ? { onProgress: options.onProgress } : {}),
    })
    if (missing.has('score.weight')) initializeHead(role, tensors.get('score.weight')!, config, options.seed ?? 0)
    const adapter = await openAdapter(options.adapter, config, settings, tensors)
    return new TokenModel(role, config, tensors, adapter, settings, directory)
  }

  /** A model with random weights. */
  static async create<R extends Role>(
    config: ModelConfig,
    options: Omit<LoadOptions<R>, 'role'> & { role: R; seed: number },
  ): Promise<TokenModel<R>> {
    const settings = settingsOf(options)
    refuseNothingToTrain(options.role, config, settings)
    const weights = layout(config.decoder, headOf(options.role))
    const tensors = await initializeWeights(weights, config.decoder, { ...settings, seed: options.seed })
    const adapter = await openAdapter(options.adapter, config, settings, tensors)
    return new TokenModel(options.role, config, tensors, adapter, settings, undefined)
  }

  /** Counts the changes of the weights since it was made. */
  get version(): number {
    return this.steps
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
    let done = 0
    for (const { plan, outputs } of this.run(sequences, options, 'on')) {
      const { parts, tensors } = await outputs
      for (const tensor of tensors) tensor.dispose()
      for (const [k, index] of plan.sequences.entries()) results[index] = parts[k]!
      done += plan.sequences.length
      options.onProgress?.(done)
    }
    return results
  }

  /** The batches of a call, each started when the one before was taken. */
  private *run(sequences: readonly Sequence[], options: ScoreOptions & TrainOptions, mode: 'on' | 'training') {
    const { temperature = 1, packing = 'on', entropy = false, adapter = 'on', signal } = options
    this.check(sequences, temperature)
    const training = mode === 'training'
    const wanted = wantedPositions(this.role, sequences, options.from)
    const plans = planBatches(
      sequences.map(ids => ids.length),
      { tokenBudget: this.settings.tokenBudget, packing, together: options.together ?? 1 },
    )
    for (const plan of plans) {
      signal?.throwIfAborted()
      const arrays = fillBatch(plan, sequences, wanted)
      const pass: PassOptions = {
        ...this.rowKind(plan, packing),
        training,
        adapter: this.adapts(adapter),
        head: this.head(arrays.rows.length, { entropy, training, scaled: temperature !== 1 }),
      }
      const outputs = this.passes.run(plan, arrays, pass, temperature).then(async tensors => {
        try {
          return { tensors, parts: await readOutputs(this.role, plan, arrays.counts, tensors) }
        } catch (error) {
          for (const tensor of tensors) tensor.dispose()
          throw error
        }
      })
      yield { plan, outputs, counts: arrays.counts }
    }
  }

  /** Half precision on CUDA has an attention kernel for sequences of unequal length; elsewhere they are spread over a grid. */
  private rowKind(plan: BatchPlan, packing: 'on' | 'off'): Pick<PassOptions, 'rows' | 'short'> {
    const { device, dtype } = this.settings
    const half = dtype === 'bfloat16' || dtype === 'float16'
    if (packing === 'on' && device !== 'cpu' && half) return { rows: 'varlen', short: false }
    const short = device === 'cpu' && dtype === 'float32' && plan.length <= shortLength
    return { rows: plan.packed ? 'packed' : 'uniform', short }
  }

  private head(rows: number, options: { entropy: boolean; training: boolean; scaled: boolean }): PassHead {
    if (this.role !== 'language') return { kind: 'score' }
    const { vocabSize } = this.config.decoder
    return {
      kind: 'language',
      plan: planHead(rows, vocabSize, {
        ...options,
        trainWeight: this.adapter === undefined,
        device: this.settings.device,
      }),
    }
  }

  /** Whether the adapter is computed beside the weights. */
  private adapts(adapter: 'on' | 'off'): boolean {
    if (this.merged && adapter === 'off')
      throw new ModelError('the adapter is merged into the weights; unmerge() before scoring without it')
    return this.adapter !== undefined && this.merged === undefined && adapter === 'on'
  }

  /** The logits after each sequence's last token: what the next one would be drawn from. */
  async nextLogits(
    this: TokenModel<'language'>,
    sequences: readonly Sequence[],
    options: Pick<ScoreOptions, 'adapter' | 'packing' | 'signal'> = {},
  ): Promise<Float32Array[]> {
    const { packing = 'on', adapter = 'on', signal } = options
    if (this.role !== 'language') throw new ModelError(`a ${this.role as string} model has no logits`)
    this.check(sequences, 1)
    const results = new Array<Float32Array>(sequences.length)
    const last = (i: number) => ({ start: sequences[i]!.length - 1, end: sequences[i]!.length })
    const lengths = sequences.map(ids => ids.length)
    for (const plan of planBatches(lengths, { tokenBudget: this.settings.tokenBudget, packing })) {
      signal?.throwIfAborted()
      const pass: PassOptions = {
        ...this.rowKind(plan, packing),
        training: false,
        adapter: this.adapts(adapter),
        head: { kind: 'logits' },
      }
      const [logits] = await this.passes.run(plan, fillBatch(plan, sequences, last), pass, 1)
      const flat = await logits!.data<'float32'>().finally(() => logits!.dispose())
      const { vocabSize } = this.config.decoder
      for (const [k, index] of plan.sequences.entries()) {
        const row = flat.slice(k * vocabSize, (k + 1) * vocabSize)
        if (row.some(value => !Number.isFinite(value))) throw new NonFiniteError('the output', index)
        results[index] = row
      }
    }
    return results
  }

  private check(sequences: readonly Sequence[], temperature: number): void {
    if (this.away) throw new ModelError('the weights are offloaded; reload() brings them back')
    const { vocabSize, context } = this.config.decoder
    if (!(temperature > 0)) throw new RangeError(`a temperature is positive, got ${temperature}`)
    for (const [i, ids] of sequences.entries()) {
      if (ids.length === 0) throw new RangeError(`sequence ${i} is empty`)
      if (ids.length > context)
        throw new RangeError(`sequence ${i} has ${ids.length} tokens, the model's context is ${context}`)
      for (const id of ids)
        if (!(id >= 0 && id < vocabSize))
          throw new RangeError(`sequence ${i} has token id ${id}, the vocabulary ends at ${vocabSize - 1}`)
    }
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
    if (this.merged) throw new ModelError('the adapter is merged into the weights; unmerge() before training it')
    const call: TrainCall<R> = { sequences, options, gradients: new Map() }
    this.calls.push(call)
    for (const { plan, outputs, counts } of this.run(sequences, options, 'training')) {
      const { tensors, parts } = await outputs
      try {
        const given = lossGradient(parts, plan.sequences)
        if (given.length !== parts.length)
          throw new RangeError(`${parts.length} outputs need as many gradients, got ${given.length}`)
        await this.passes.backward(tensors, flattenGradients(this.role, plan, counts, given, tensors.length))
        for (const [k, index] of plan.sequences.entries()) call.gradients.set(index, given[k]!)
      } finally {
        for (const tensor of tensors) tensor.dispose()
      }
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
      this.steps++
      return update
    } catch (error) {
      throw error instanceof NonFiniteGradientError ? await this.blame(error) : error
    } finally {
      this.zeroGrad()
    }
  }

  /** Finds the sequence behind a gradient that is not finite, by going through them again one by one. */
  private async blame(error: NonFiniteGradientError): Promise<Error> {
    const { calls } = this
    for (const [number, { sequences, options, gradients }] of calls.entries()) {
      const { from, together: _, ...rest } = options
      for (const [index, gradient] of gradients) {
        this.zeroGrad()
        const first = typeof from === 'object' ? from[index] : from
        await this.forwardBackward([sequences[index]!], () => [gradient], {
          ...rest,
          ...(first === undefined ? {} : { from: first }),
        })
        const finite = scope(() => [...this.gradients().values()].every(own => Number.isFinite(own.norm().item())))
        if (!finite)
          return new NonFiniteError('the gradient', index, {
            cause: error,
            ...(calls.length > 1 && { call: number + 1 }),
          })
      }
    }
    return error
  }

  private adamW(): AdamW {
    if (!this.optimizer) {
      const { exempt = [], weightDecay = 0, ...options } = this.settings.optimizer
      const kinds = new Map(this.weights.map(({ name, kind }) => [name, kind]))
      const trained = new Map([
        ...(this.adapter?.tensors() ?? []),
        ...[...this.tensors].filter(([, tensor]) => tensor.requiresGrad),
      ])
      const decays = (name: string): boolean => !exempt.includes(kinds.get(name) ?? 'matrix')
      const group = (wanted: boolean) => new Map([...trained].filter(([name]) => decays(name) === wanted))
      // The rate of each step comes in as the scale of a rate of 1.
      this.optimizer = new AdamW([
        { parameters: group(true), lr: 1, weightDecay, ...options },
        { parameters: group(false), lr: 1, weightDecay: 0, ...options },
      ])
    }
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
    const found = new Map<string, Tensor>()
    for (const [name, tensor] of this.adapter?.tensors() ?? []) {
      const gradient = tensor.grad
      if (gradient) found.set(name, gradient)
    }
    for (const weight of this.weights) {
      const gradient = this.tensors.get(weight.name)!.grad
      if (!gradient) continue
      for (const [name, view] of checkpointViews([weight], new Map([[weight.name, gradient]]))) found.set(name, view)
      gradient.dispose()
    }
    return found
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
    const views = unscoped(() => checkpointViews(this.weights, this.tensors))
    try {
      await saveModel(directory, { config: raw, tensors: views, source: this.source, ...options })
    } finally {
      for (const view of views.values()) view.dispose()
    }
  }

  /** Writes the adapter alone, in PEFT's format. */
  async saveAdapter(directory: string): Promise<void> {
    if (!this.adapter) throw new ModelError('this model has no adapter')
    await this.adapter.save(directory, { base: this.source ?? '', head: this.tensors.get('score.weight') })
  }

  /** Adds the adapter into the weights: the same numbers without its cost. `unmerge` restores the weights exactly. */
  async merge(): Promise<void> {
    if (!this.adapter) throw new ModelError('this model has no adapter')
    if (this.merged) return
    const adapted = this.adapted(this.adapter)
    const names = [...new Set(adapted.map(({ name }) => name))]
    const before = await once(() => {
      const copies = names.map(name => this.tensors.get(name)!.clone())
      for (const { name, start, low } of adapted)
        this.tensors.get(name)!.narrow(0, start, low.b.shape[0]!).add_(low.b.matmul(low.a), { alpha: low.scale })
      return copies
    })
    this.merged = new Map(names.map((name, i) => [name, before[i]!]))
    this.steps++
  }

  async unmerge(): Promise<void> {
    const { merged } = this
    if (!merged) return
    await once(() => {
      for (const [name, original] of merged) this.tensors.get(name)!.copy_(original)
    })
    for (const original of merged.values()) original.dispose()
    this.merged = undefined
    this.steps++
  }

  /** Where the adapter's products belong: row ranges of the weights. */
  private adapted(adapter: Adapter): { name: string; start: number; low: LowRank }[] {
    return this.weights.flatMap(({ name, parts }) => {
      let next = 0
      return parts.flatMap(part => {
        const start = next
        next += part.rows
        const match = /^model\.layers\.(\d+)\.\w+\.(\w+)\.weight$/.exec(part.name)
        const projection = match && projections.find(p => p === match[2])
        const low = projection ? adapter.lowRank(Number(match[1]), projection) : undefined
        return low ? [{ name, start, low }] : []
      })
    })
  }

  /** Takes over another model's weights, and its adapter's where both have one, cast to this one's dtype. */
  async copyFrom(other: TokenModel): Promise<void> {
    if (this.merged || other.merged) throw new ModelError('an adapter is merged into the weights; unmerge() it before')
    const theirs = new Map([...other.tensors, ...(other.adapter?.tensors() ?? [])])
    const mine = [...this.tensors, ...(this.adapter && other.adapter ? this.adapter.tensors() : [])]
    for (const [name, { shape }] of mine) {
      const found = theirs.get(name)?.shape
      if (!found) throw new ModelError(`the other model has no ${name}`)
      if (found.join() !== shape.join())
        throw new ModelError(`the other model's ${name} is [${found.join(', ')}], this one's [${shape.join(', ')}]`)
    }
    await once(() => {
      for (const [name, tensor] of mine) tensor.copy_(theirs.get(name)!)
    })
    // Float32 copies of the weights before would bring them back at the next step.
    this.optimizer?.dispose()
    this.optimizer = undefined
    this.steps++
  }

  /** A fingerprint of the weights: equal for equal bits. */
  checksum(): Promise<string> {
    return checksumWeights(this.weights, this.tensors)
  }

  /** Moves the weights to CPU memory; `reload` brings them back. Scoring in between is an error that says so. */
  async offload(): Promise<void> {
    this.away = true
    await this.move('cpu')
  }

  async reload(): Promise<void> {
    await this.move(this.settings.device)
    this.away = false
  }

  private async move(device: Device): Promise<void> {
    this.moves++
    await once(() => {
      // The tensors stay the ones the programs captured; only their memory changes.
      for (const tensor of this.tensors.values()) tensor.setData(tensor.detach().toCopy({ device }))
    })
  }

  dispose(): void {
    this.passes.dispose()
    this.optimizer?.dispose()
    this.adapter?.dispose()
    for (const tensor of this.merged?.values() ?? []) tensor.dispose()
    for (const tensor of this.tensors.values()) tensor.dispose()
  }
}
