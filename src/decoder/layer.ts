/**
 * The transformer, written once: token ids in, the last layer's normalised hidden states out. Rows are tokens; sequences
 * appear only in attention. What a layer is made of is a table of operations, `LayerOps`: training, prefill, decode and the
 * kernels for few rows each have one.
 */
import type { Tensor } from '../tensor/index.js'
import type { DecoderConfig } from './config.js'
import { addDeepRows, type MediaRows } from './vision/index.js'
import { layerWeights, type Projection } from './weight-map.js'

/** What flows from part to part: the sum of all parts so far, and what the next part reads of it. */
interface LayerState<Normed = Tensor> {
  residual: Tensor
  normed: Normed
}

/** A linear map of a layer. Projections that read the same input are one matrix, their rows one after another. */
export interface LinearMap {
  weight: Tensor
  bias: Tensor | null
  layer: number
  parts: readonly { projection: Projection; width: number }[]
}

/** What a map of several projections gives: one matrix, or one for each of them. */
export type Columns = Tensor | readonly Tensor[]

/** What the output of a part meets: the stream between parts, and the norm in front of the next (or behind this one). */
interface Junction {
  residual: Tensor
  norm: Tensor
}

/**
 * What layers are made of. `Normed` is whatever a table hands from a norm to the projection behind it: rows, or rows whose
 * norm is not finished.
 */
export interface LayerOps<Normed = Tensor> {
  /**
   * The rows `ids` of the embedding, or of a vision tower; `norm` is that of the first part, null where parts read the stream as it is.
   */
  begin(ids: Tensor, given: { table: Tensor; norm: Tensor | null; media?: MediaRows | undefined }): LayerState<Normed>
  /** The state of a stream that was changed between two layers. Only of tables that are used with media. */
  resume?(residual: Tensor, norm: Tensor): LayerState<Normed>
  linear(x: Normed, map: LinearMap): Columns
  /** RMSNorm of a projection's columns, `groups` equal groups of them, each by itself. */
  normColumns(x: Tensor, weight: Tensor, groups: number): Tensor
  /** Queries, keys and values of the layer to each row's attention over its sequence up to its position. */
  attend(qkv: Columns, layer: number): Tensor
  /** Keeps keys and values for later rows, where the attention itself is not wanted. */
  store?(qkv: Columns, layer: number): void
  /** `silu(gate) * up`; the map's parts are the gates and the ups. */
  gated(x: Normed, map: LinearMap): Tensor
  /** The part's output projection, added to the stream, and what the next part reads. */
  join(x: Tensor, map: LinearMap, junction: Junction): LayerState<Normed>
  /** The hidden states; `norm` is the last one, null where the last part's junction had it. */
  end(state: LayerState<Normed>, norm: Tensor | null): Tensor
  /** How a layer is run where it is not simply run: training may keep nothing but what goes in. */
  runLayer?(
    state: LayerState<Normed>,
    run: (ops: LayerOps<Normed>, state: LayerState<Normed>) => LayerState<Normed>,
  ): LayerState<Normed>
}

/** The rows whose hidden states are wanted; `none`: keys and values are stored, and that is all. */
type WantedRows = Tensor | 'all' | 'none'

interface Decoder {
  config: DecoderConfig
  weights: ReadonlyMap<string, Tensor>
}

/** The normalised hidden states of the rows `wanted`, `[rows, hidden]`; undefined where none are. */
export function runLayers<Normed>(
  { config, weights }: Decoder,
  ops: LayerOps<Normed>,
  ids: Tensor,
  wanted: WantedRows,
  media?: MediaRows | undefined,
): Tensor | undefined {
  const last = config.layers - 1
  const finalNorm = weights.get('model.norm.weight')!
  const named = Array.from({ length: config.layers }, (_, i) => layerWeights(config, weights, i))
  // A norm in front of a part is computed with the part before it, the last one with the last layer.
  const before = config.norms === 'before'
  let state = ops.begin(ids, {
    table: weights.get('model.embed_tokens.weight')!,
    norm: before ? named[0]!.attentionNorm : null,
    ...(media && { media }),
  })
  for (const [i, layer] of named.entries()) {
    const afterMlp = before ? (named[i + 1]?.attentionNorm ?? finalNorm) : layer.mlpNorm
    const run = (table: LayerOps<Normed>, given: LayerState<Normed>, rows: WantedRows = 'all') =>
      runLayer(config, layer, table, given, { index: i, afterMlp, rows })
    const next =
      ops.runLayer && !(i === last && wanted !== 'all')
        ? ops.runLayer(state, (table, given) => run(table, given)!)
        : run(ops, state, i === last ? wanted : 'all')
    if (!next) return undefined
    state = media && i < media.deep.length ? ops.resume!(addDeepRows(next.residual, media, i), afterMlp) : next
  }
  return ops.end(state, before ? null : finalNorm)
}

function runLayer<Normed>(
  config: DecoderConfig,
  weights: ReturnType<typeof layerWeights>,
  ops: LayerOps<Normed>,
  state: LayerState<Normed>,
  { index, afterMlp, rows }: { index: number; afterMlp: Tensor; rows: WantedRows },
): LayerState<Normed> | undefined {
  const qkv = normQueriesAndKeys(config, weights, ops, ops.linear(state.normed, weights.qkv))
  if (rows === 'none') {
    ops.store!(qkv, index)
    return undefined
  }
  let mixed = ops.attend(qkv, index)
  let { residual } = state
  if (rows !== 'all') {
    // From here on rows no longer meet.
    mixed = mixed.indexSelect(0, rows)
    residual = residual.indexSelect(0, rows)
  }
  const afterAttention = config.norms === 'before' ? weights.mlpNorm : weights.attentionNorm
  const middle = ops.join(mixed, weights.output, { residual, norm: afterAttention })
  const act = ops.gated(middle.normed, weights.gateUp)
  return ops.join(act, weights.down, { residual: middle.residual, norm: afterMlp })
}

function normQueriesAndKeys<Normed>(
  { qkNorm, heads, kvHeads }: DecoderConfig,
  { qkv: map, queryNorm, keyNorm }: ReturnType<typeof layerWeights>,
  ops: LayerOps<Normed>,
  qkv: Columns,
): Columns {
  if (qkNorm === 'none') return qkv
  const [query, key, value] = splitColumns(qkv, map) as [Tensor, Tensor, Tensor]
  const groups = (count: number): number => (qkNorm === 'head' ? count : 1)
  return [ops.normColumns(query, queryNorm!, groups(heads)), ops.normColumns(key, keyNorm!, groups(kvHeads)), value]
}

/** One matrix for each projection of the map. */
export function splitColumns(columns: Columns, { parts }: LinearMap): readonly Tensor[] {
  if (isSplit(columns)) return columns
  let start = 0
  return parts.map(({ width }) => {
    const part = columns.narrow(1, start, width)
    start += width
    return part
  })
}

export const isSplit = (columns: Columns): columns is readonly Tensor[] => Array.isArray(columns)
