/** Runs the sequences of a call: checks them, plans batches, and selects the program of each batch. */

import { shortLength } from '../decoder/index.js'
import type { Tensor } from '../tensor/index.js'
import {
  type BatchArrays,
  type BatchPlan,
  type DropoutPosition,
  fillBatch,
  type PlanOptions,
  planBatches,
  type SharedPrefix,
  sharedPrefixes,
} from './batch.js'
import { ModelError } from './errors.js'
import type { ForwardHead, ForwardOptions, ForwardPrograms } from './forward-programs.js'
import { planHead } from './head.js'
import type { Settings } from './loading.js'
import { type BatchMedia, distinctPixels, fillMedia, mediaKey, mediaProblem, patchCount } from './media.js'
import { idsOf, type ModelInput, mediaOf, type Wanted } from './model-input.js'
import type { Role, ScoreOptions, TrainOptions } from './outputs.js'
import type { Parameters } from './parameters.js'
import type { VisionFeatures } from './vision-features.js'

/** What is asked of the model in one call. */
interface Call
  extends Pick<ScoreOptions, 'entropy' | 'temperature' | 'adapter' | 'packing' | 'signal'>,
    Pick<TrainOptions, 'groupSize'> {
  /** The positions of a sequence whose output is wanted. */
  wanted: (sequence: number) => Wanted
  /** What the role answers with, the same with gradients recorded, or all logits. */
  answer: 'outputs' | 'training' | 'logits'
  /** Of a training pass: where its random numbers begin. */
  dropout?: DropoutPosition
}

interface Batch {
  plan: BatchPlan
  /** The outputs of each sequence of the plan. */
  ranges: readonly Wanted[]
  /** The outputs, one after another. They live until the next batch is asked for. */
  tensors: readonly Tensor[]
}

type PatchLimit = NonNullable<PlanOptions['patches']>

/** Smallest share of rows that packing must save: a grid of unequal sequences costs a little more than equal ones. */
export const leastShared = 0.05

export class BatchRunner {
  constructor(
    private readonly forwardPrograms: ForwardPrograms,
    private readonly weights: Parameters,
    private readonly role: Role,
    private readonly settings: Settings,
    private readonly vision: VisionFeatures | undefined,
  ) {}

  /** Each batch starts when the one before has been dealt with. */
  async *run(sequences: readonly ModelInput[], call: Call): AsyncGenerator<Batch, void> {
    const { temperature = 1, packing = 'on', groupSize = 1, adapter = 'on', signal } = call
    this.weights.refuseUnusable()
    this.check(sequences, temperature)
    const given = sequences.map(idsOf)
    const lengths = given.map(ids => ids.length)
    const all = given.map((_, i) => call.wanted(i))
    const { tokenBudget } = this.settings
    const patches = this.patches(sequences, call.answer)
    for (const plan of planBatches(lengths, { tokenBudget, packing, groupSize, ...(patches && { patches }) })) {
      signal?.throwIfAborted()
      this.weights.refuseUnusable()
      const adapts = this.adapts(adapter)
      const drops = adapts && (this.weights.adapter?.options.dropout ?? 0) > 0 ? call.dropout : undefined
      // What is dropped is drawn for each sequence by itself: their beginnings are not alike then.
      const prefixes = packing === 'on' && !drops ? this.prefixes(plan, sequences, all) : undefined
      const arrays = fillBatch(plan, given, all, { dropout: drops, ...(prefixes && { prefixes }) })
      const forward: ForwardOptions = {
        ...this.rowKind(plan, packing),
        ...(prefixes && { rows: 'shared' as const }),
        training: call.answer === 'training',
        adapter: adapts,
        dropout: drops !== undefined,
        head: this.head(arrays.rows.length, call),
      }
      const { vision } = this.weights.parts.config
      const media = vision && fillMedia(plan, sequences, arrays, vision, prefixes)
      const tensors = media
        ? await this.runMedia(plan, arrays, forward, temperature, media)
        : await this.forwardPrograms.run(plan, arrays, forward, temperature)
      try {
        yield { plan, ranges: plan.sequences.map(index => all[index]!), tensors }
      } finally {
        for (const tensor of tensors) tensor.dispose()
      }
    }
  }

  private async runMedia(
    plan: BatchPlan,
    arrays: BatchArrays,
    forward: ForwardOptions,
    temperature: number,
    media: BatchMedia,
  ): Promise<readonly Tensor[]> {
    const rows = await this.vision!.rows(media.pixels, { gradients: forward.training })
    const options = { ...forward, media: true }
    try {
      return await this.forwardPrograms.run(plan, arrays, options, temperature, { ...media, tensors: rows })
    } finally {
      for (const tensor of rows) tensor.dispose()
    }
  }

  /** Refuses sequences that this model cannot read, by their index. */
  check(sequences: readonly ModelInput[], temperature: number): void {
    const { vocabSize, context, vision } = this.weights.parts.config
    if (
      !(temperature > 0 && Number.isFinite(Math.fround(temperature)) && Number.isFinite(Math.fround(1 / temperature)))
    )
      throw new RangeError(`a temperature is positive, and it and its inverse are float32 numbers, got ${temperature}`)
    for (const [i, sequence] of sequences.entries()) {
      const ids = idsOf(sequence)
      const media = mediaOf(sequence)
      if (!vision && media.length > 0) throw new ModelError(`sequence ${i} has media, and this model takes only text`)
      const problem = vision && mediaProblem(ids, media, vision)
      if (problem) throw new RangeError(`sequence ${i}${promptOf(sequence)}: ${problem}`)
      if (ids.length === 0) throw new RangeError(`sequence ${i} is empty`)
      if (ids.length > context)
        throw new RangeError(`sequence ${i} has ${ids.length} tokens, the model's context is ${context}`)
      for (const id of ids)
        if (!(id >= 0 && id < vocabSize))
          throw new RangeError(`sequence ${i} has token id ${id}, the vocabulary ends at ${vocabSize - 1}`)
    }
  }

  /** The patches of a pass whose activations are kept; those of other passes take no memory beside it. */
  private patches(sequences: readonly ModelInput[], answer: Call['answer']): PatchLimit | undefined {
    if (answer !== 'training' || !this.weights.trainedVision.blocks) return undefined
    return {
      budget: this.settings.patchBudget,
      of: i => distinctPixels([mediaOf(sequences[i]!)]).map(item => ({ hash: item.hash, patches: patchCount(item) })),
    }
  }

  /** Half precision on CUDA has an attention kernel for sequences of unequal length; elsewhere they are spread over a grid. */
  private rowKind(plan: BatchPlan, packing: 'on' | 'off'): Pick<ForwardOptions, 'rows' | 'short'> {
    const { device, dtype } = this.settings
    const half = dtype === 'bfloat16' || dtype === 'float16'
    if (packing === 'on' && device !== 'cpu' && half) return { rows: 'varlen', short: false }
    const short = device === 'cpu' && dtype === 'float32' && plan.length <= shortLength
    return { rows: plan.packed ? 'packed' : 'uniform', short }
  }

  /** What sequences have in common, where the device computes it once; undefined where that would save too little. */
  private prefixes(
    plan: BatchPlan,
    sequences: readonly ModelInput[],
    wanted: readonly Wanted[],
  ): (SharedPrefix | undefined)[] | undefined {
    if (this.settings.device !== 'cpu') return undefined
    const given = sequences.map(idsOf)
    const found = sharedPrefixes(plan, given, wanted, (i, length) => mediaKey(mediaOf(sequences[i]!), length))
    const saved = found.reduce((sum, prefix) => sum + (prefix?.length ?? 0), 0)
    const total = plan.sequences.reduce((sum, index) => sum + given[index]!.length, 0)
    return saved >= leastShared * total ? found : undefined
  }

  /** Whether the adapter is computed beside the weights. */
  private adapts(adapter: 'on' | 'off'): boolean {
    const { merged } = this.weights
    if (merged && adapter === 'off')
      throw new ModelError('the adapter was merged into the weights permanently; cannot score without it')
    return this.weights.adapter !== undefined && !merged && adapter === 'on'
  }

  private head(rows: number, { answer, entropy = false, temperature = 1 }: Call): ForwardHead {
    if (answer === 'logits') return { kind: 'logits' }
    if (this.role !== 'language') return { kind: 'score' }
    return {
      kind: 'language',
      plan: planHead(rows, this.weights.parts.config.vocabSize, {
        entropy,
        training: answer === 'training',
        scaled: temperature !== 1,
        trainWeight: this.weights.adapter === undefined,
        device: this.settings.device,
      }),
    }
  }
}

/** Names the sample where the caller did. */
const promptOf = (input: ModelInput): string =>
  input instanceof Int32Array || input.promptId === '' ? '' : ` (prompt ${input.promptId})`
