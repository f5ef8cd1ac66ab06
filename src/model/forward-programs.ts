/**
 * The recorded programs of a model: one for every kind of batch, made when it is first needed. Weights are captured, so a
 * program stays right while they are trained.
 */

import {
  type DecoderParts,
  decode,
  headWeight,
  mixedRotations,
  type Rows,
  ropeColumns,
  ropeTables,
  rowsOf,
} from '../decoder/index.js'
import {
  type Device,
  full,
  linear,
  noGrad,
  type Program,
  record,
  type Sym,
  scope,
  Tensor,
  unscoped,
} from '../tensor/index.js'
import type { BatchArrays, BatchPlan } from './batch.js'
import { type HeadPlan, makeLanguageHead, planKey } from './head.js'
import type { BatchMedia } from './media.js'

/** What a pass computes for the wanted rows: log-probabilities (and entropies), all logits, or one number each. */
export type ForwardHead = { kind: 'language'; plan: HeadPlan } | { kind: 'logits' } | { kind: 'score' }

export interface ForwardOptions {
  rows: Rows['kind']
  /** Sequences are short enough for attention by plain products. */
  short: boolean
  head: ForwardHead
  /** Gradients are recorded: the outputs remember how they came about. */
  training: boolean
  adapter: boolean
  /** The adapter drops a part of its input. */
  dropout: boolean
  /** Some rows are images or videos. */
  media?: boolean
}

type Pass = Program<readonly ('tensor' | 'number')[], readonly Tensor[]>

/** Indices come as int32, which JavaScript fills fast; some operators take only int64. */
const wide = (indices: Tensor): Tensor => indices.toCopy({ dtype: 'int64' })

export class ForwardPrograms {
  private readonly programs = new Map<string, Pass>()
  private tables: { cos: Tensor; sin: Tensor; positions: number } | undefined
  private mask: { tensor: Tensor; length: number } | undefined
  private backwards = new Map<number, Pass>()

  constructor(
    private readonly parts: DecoderParts,
    private readonly device: Device,
  ) {}

  private headWeight(kind: ForwardHead['kind']): Tensor {
    return kind === 'score' ? this.parts.weights.get('score.weight')! : headWeight(this.parts)
  }

  private program(options: ForwardOptions): Pass {
    const { rows: kind, short, head, training, adapter, dropout, media = false } = options
    const key = [
      kind,
      short,
      training,
      adapter,
      dropout,
      media,
      head.kind,
      head.kind === 'language' ? planKey(head.plan) : '',
    ].join()
    const known = this.programs.get(key)
    if (known) return known
    const parts: DecoderParts = {
      ...this.parts,
      adapter: adapter ? this.parts.adapter : undefined,
      gradientCheckpointing: training && (this.parts.gradientCheckpointing ?? false),
      gradients: training ? 'recorded' : 'none',
    }
    const languageHead =
      head.kind === 'language'
        ? makeLanguageHead(
            head.plan,
            parts.ops,
            this.device === 'cpu' ? undefined : parts.ops.logprobs(parts.config.vocabSize),
          )
        : undefined
    // The last layer is computed for wanted rows alone, except where each keeps nothing but its input, or has keys for all rows.
    const early = this.device === 'cpu' && !parts.gradientCheckpointing && !dropout
    const extra = { uniform: 0, packed: 2, shared: 2, varlen: 1 }[kind] + (short ? 1 : 0) + (dropout ? 1 : 0)
    const shown = media ? 4 + this.parts.config.vision!.deepstack.length : 0
    const kinds = [...Array<'tensor'>(6 + extra + shown).fill('tensor'), 'number', 'number'] as const
    const made = record(kinds as readonly ('tensor' | 'number')[], (...inputs) => {
      const tensors = inputs.slice(0, -2) as Tensor[]
      const [ids, ropePositions, cosTable, sinTable, wanted, targets] = tensors
      const [length, inverseTemperature] = inputs.slice(-2) as [Sym, Sym]
      const [columns, at, from, ...features] = tensors.splice(6 + extra, shown)
      const dropoutKeys = dropout ? tensors.pop() : undefined
      const run = (): readonly Tensor[] => {
        const rows = rowsOf(
          kind,
          length,
          tensors
            .slice(6)
            .map((tensor, i) => ((kind === 'packed' || kind === 'shared') && i < 2 ? wide(tensor) : tensor)),
        )
        const angle = (table: Tensor): Tensor =>
          media ? mixedRotations(table, ropePositions!, columns!) : table.indexSelect(0, ropePositions!)
        const [own, ...deep] = features.map(tensor => tensor.indexSelect(0, from!))
        const mediaRows = media ? { at: wide(at!), features: own!, deep } : undefined
        const places = { cos: angle(cosTable!), sin: angle(sinTable!), rows, dropoutKeys, media: mediaRows }
        const hidden = early
          ? decode(parts, ids!, places, wanted!)
          : decode(parts, ids!, places).indexSelect(0, wanted!)
        if (languageHead) return languageHead(hidden, this.headWeight('language'), wide(targets!), inverseTemperature)
        if (head.kind === 'logits') return [linear(hidden, this.headWeight('logits')).toCopy({ dtype: 'float32' })]
        return [hidden.matmul(this.headWeight('score').t()).squeeze(1).toCopy({ dtype: 'float32' })]
      }
      return training ? run() : noGrad(run)
    }) as unknown as Pass
    this.programs.set(key, made)
    return made
  }

  private ropeFor(length: number): { cos: Tensor; sin: Tensor } {
    if (!this.tables || this.tables.positions < length) {
      const positions = Math.max(512, 2 ** Math.ceil(Math.log2(length)))
      this.tables?.cos.dispose()
      this.tables?.sin.dispose()
      this.tables = { ...unscoped(() => ropeTables(this.parts.config, positions, this.device)), positions }
    }
    return this.tables
  }

  private maskFor(length: number): Tensor {
    if (this.mask?.length !== length) {
      this.mask?.tensor.dispose()
      const tensor = unscoped(() => scope(() => full([length, length], -Infinity).triu(1)))
      this.mask = { tensor, length }
    }
    return this.mask.tensor
  }

  /** Runs a batch; the caller owns the outputs, one number per wanted row each. */
  async run(
    plan: BatchPlan,
    arrays: BatchArrays,
    options: ForwardOptions,
    temperature: number,
    media?: BatchMedia & { tensors: readonly Tensor[] },
  ): Promise<readonly Tensor[]> {
    const { cos, sin } = this.ropeFor(Math.max(plan.length, (media?.largest ?? 0) + 1))
    const made: Tensor[] = []
    const upload = (array: Int32Array, shape: readonly number[] = [array.length]): Tensor => {
      const tensor = unscoped(() => Tensor.from(array, { device: this.device, shape }))
      made.push(tensor)
      return tensor
    }
    try {
      const tensors = [
        upload(arrays.ids),
        upload(media?.ropePositions ?? arrays.ropePositions),
        cos,
        sin,
        upload(arrays.rows),
        upload(arrays.targets),
      ]
      if (options.rows === 'packed' || options.rows === 'shared')
        tensors.push(upload(arrays.pad!), upload(arrays.unpad!))
      if (options.rows === 'varlen') tensors.push(upload(arrays.cuSeqlens))
      if (options.short) tensors.push(this.maskFor(plan.length))
      if (options.dropout) tensors.push(upload(arrays.dropoutKeys!, [arrays.dropoutKeys!.length / 4, 4]))
      if (media) {
        const columns = ropeColumns(this.parts.config.vision!)
        tensors.push(upload(columns), upload(media.rows), upload(media.features), ...media.tensors)
      }
      return (await this.program(options).run(...tensors, plan.length, 1 / temperature)) as readonly Tensor[]
    } finally {
      for (const tensor of made) tensor.dispose()
    }
  }

  /** Adds to the parameters' gradients what follows from these gradients of a pass's outputs. */
  async backward(outputs: readonly Tensor[], gradients: readonly Float32Array[]): Promise<void> {
    let program = this.backwards.get(outputs.length)
    if (!program) {
      const kinds = Array.from({ length: 2 * outputs.length }, () => 'tensor' as const)
      program = record(kinds as readonly ('tensor' | 'number')[], (...inputs) => {
        const tensors = inputs as unknown as Tensor[]
        const terms = outputs.map((_, i) => tensors[i]!.mul(tensors[outputs.length + i]!).sum())
        terms.reduce((sum, term) => sum.add(term)).backward()
      }) as unknown as Pass
      this.backwards.set(outputs.length, program)
    }
    const uploaded = gradients.map(array => unscoped(() => Tensor.from(array, { device: this.device })))
    try {
      await program.run(...outputs, ...uploaded)
    } finally {
      for (const tensor of uploaded) tensor.dispose()
    }
  }

  dispose(): void {
    for (const program of [...this.programs.values(), ...this.backwards.values()]) program.dispose()
    this.programs.clear()
    this.backwards.clear()
    this.releaseTables()
  }

  /** Frees what is made again when it is next needed. */
  releaseTables(): void {
    this.tables?.cos.dispose()
    this.tables?.sin.dispose()
    this.tables = undefined
    this.mask?.tensor.dispose()
    this.mask = undefined
  }
}
