/**
 * The transformer itself, written once for eager calls and recordings: token ids in, the last layer's normalised hidden
 * states out. Rows are tokens; sequences appear only in attention.
 */
import type { FusedOps } from '../kernels/index.js'
import { cat, checkpoint, dropout, embedding, linear, type Sym, type Tensor } from '../tensor/index.js'
import { attention, type Rows, rowsOf, rowTensors } from './attention.js'
import type { DecoderConfig } from './config.js'
import type { Projection } from './weight-map.js'

/** What an adapter adds to a projection: `scale * b(a(x))`. */
export interface LowRank {
  a: Tensor
  b: Tensor
  scale: number
  dropout: number
}

export interface DecoderParts {
  config: DecoderConfig
  weights: ReadonlyMap<string, Tensor>
  /** Norms and activations for the weights' device and dtype. */
  ops: FusedOps
  /** Undefined: no adapter, or the adapter is off. */
  adapter?: ((layer: number, projection: Projection) => LowRank | undefined) | undefined
  /** How often the weights have moved to other memory: graphs hold addresses, and are void then. */
  storageGeneration?: () => number
  /** Keep only each layer's input for the backward pass. */
  gradientCheckpointing?: boolean
  /** Adapters drop inputs at random. */
  training?: boolean
}

/**
 * The stream between layers: what the last part added, and the sum of all before it. They are added where they are
 * normalised next, in one pass over memory.
 */
interface Stream {
  added: Tensor
  /** Undefined at the bottom, where there is only the embedding. */
  sum: Tensor | undefined
}

function normalize(
  { config, ops }: DecoderParts,
  { added, sum }: Stream,
  weight: Tensor,
): readonly [normed: Tensor, sum: Tensor] {
  return sum ? ops.addRmsNorm(added, sum, weight, config.normEps) : [ops.rmsNorm(added, weight, config.normEps), added]
}

/** The hidden states after the final norm, `[rows, hidden]`. `cos` and `sin` are float32 `[rows, headDim / 2]`. */
export function decode(parts: DecoderParts, ids: Tensor, cos: Tensor, sin: Tensor, rows: Rows): Tensor {
  const { config, weights } = parts
  let stream: Stream = { added: embedding(weights.get('model.embed_tokens.weight')!, ids), sum: undefined }
  for (let i = 0; i < config.layers; i++) {
    stream = (parts.gradientCheckpointing ? checkpointedLayer : layer)(parts, i, stream, cos, sin, rows)
  }
  return normalize(parts, stream, weights.get('model.norm.weight')!)[0]
}

/** The layer as a checkpoint: its inputs are what the backward pass keeps. */
function checkpointedLayer(
  parts: DecoderParts,
  index: number,
  stream: Stream,
  cos: Tensor,
  sin: Tensor,
  rows: Rows,
): Stream {
  const tensors = [stream.added, ...(stream.sum ? [stream.sum] : []), cos, sin, ...rowTensors(rows)]
  const kinds = [...tensors.map(() => 'tensor' as const), 'number' as const]
  const part = checkpoint(kinds as readonly ('tensor' | 'number')[], (...inputs) => {
    const given = inputs.slice(0, -1) as Tensor[]
    const inner: Stream = { added: given.shift()!, sum: stream.sum && given.shift()! }
    const [cos, sin, ...rest] = given as [Tensor, Tensor, ...Tensor[]]
    const { added, sum } = layer(parts, index, inner, cos, sin, rowsOf(rows.kind, inputs.at(-1) as Sym, rest))
    return [added, sum!]
  })
  const [added, sum] = part(...tensors, rows.length)
  return { added: added!, sum }
}

function layer(parts: DecoderParts, index: number, stream: Stream, cos: Tensor, sin: Tensor, rows: Rows): Stream {
  const { config, weights, ops } = parts
  const { heads, kvHeads, headDim, intermediate } = config
  const at = `model.layers.${index}`
  const weight = (name: string): Tensor => weights.get(`${at}.${name}`)!
  const adapts = (projection: Projection): boolean => parts.adapter?.(index, projection) !== undefined
  const adapted = (out: Tensor, input: Tensor, projection: Projection): Tensor => {
    const low = parts.adapter?.(index, projection)
    if (!low) return out
    const dropped = parts.training && low.dropout > 0 ? dropout(input, low.dropout, { train: true }) : input
    return out.add(linear(linear(dropped, low.a), low.b), { alpha: low.scale })
  }

  const [normed, sum] = normalize(parts, stream, weight('input_layernorm.weight'))
  const qkv = ops.linear(normed, weight('self_attn.qkv.weight'), weights.get(`${at}.self_attn.qkv.bias`) ?? null)
  const [queries, keys] = [heads * headDim, kvHeads * headDim]
  let qk: Tensor
  let value: Tensor
  if (config.qkNorm || adapts('q_proj') || adapts('k_proj') || adapts('v_proj')) {
    let q = adapted(qkv.narrow(1, 0, queries), normed, 'q_proj').reshape([-1, heads, headDim])
    let k = adapted(qkv.narrow(1, queries, keys), normed, 'k_proj').reshape([-1, kvHeads, headDim])
    value = adapted(qkv.narrow(1, queries + keys, keys), normed, 'v_proj').reshape([-1, kvHeads, headDim])
    if (config.qkNorm) {
      q = ops.rmsNorm(q, weight('self_attn.q_norm.weight'), config.normEps)
      k = ops.rmsNorm(k, weight('self_attn.k_norm.weight'), config.normEps)
    }
    qk = ops.rope({ rotated: heads + kvHeads, rest: 0, headDim })(cat([q, k], 1).flatten(1), cos, sin)[0]
  } else {
    ;[qk, value] = ops.rope({ rotated: heads + kvHeads, rest: kvHeads, headDim })(qkv, cos, sin)
  }
  const mixed = attention(rows, config, qk, value)
  const output = ops.linear(
    mixed,
    weight('self_attn.o_proj.weight'),
    weights.get(`${at}.self_attn.o_proj.bias`) ?? null,
  )

  const [again, middle] = normalize(
    parts,
    { added: adapted(output, mixed, 'o_proj'), sum },
    weight('post_attention_layernorm.weight'),
  )
  let gateUp = ops.linear(again, weight('mlp.gate_up.weight'), null)
  if (adapts('gate_proj') || adapts('up_proj')) {
    gateUp = cat(
      [
        adapted(gateUp.narrow(1, 0, intermediate), again, 'gate_proj'),
        adapted(gateUp.narrow(1, intermediate, intermediate), again, 'up_proj'),
      ],
      1,
    )
  }
  const act = ops.swiglu(gateUp)
  return { added: adapted(ops.linear(act, weight('mlp.down_proj.weight'), null), act, 'down_proj'), sum: middle }
}

/** The matrix that makes logits of hidden states. */
export function headWeight({ weights, config }: DecoderParts): Tensor {
  return weights.get(config.tiedEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight')!
}
