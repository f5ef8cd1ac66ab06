/**
 * The transformer itself, written once for eager calls and recordings: token ids in, the last layer's normalised hidden
 * states out. Rows are tokens; sequences appear only in attention.
 */
import {
  cat,
  checkpoint,
  customFunction,
  dropout,
  embedding,
  linear,
  type NumberLike,
  rmsNorm,
  type Sym,
  scaledDotProductAttention,
  type Tensor,
} from '../tensor/index.js'
import type { DecoderConfig } from './config.js'
import type { Projection } from './layout.js'

/** How the rows of a batch fall into sequences. */
export type Rows =
  /** Every sequence has `length` rows, one after another. */
  | { kind: 'uniform'; length: NumberLike }
  /**
   * Sequences of unequal length one after another. Attention spreads them over a grid of `length` columns: `spread` holds
   * the row for every cell of the grid, `gather` the cell of every row.
   */
  | { kind: 'packed'; length: NumberLike; spread: Tensor; gather: Tensor }

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
  /** Undefined: no adapter, or the adapter is off. */
  adapter?: ((layer: number, projection: Projection) => LowRank | undefined) | undefined
  /** Keep only each layer's input for the backward pass. */
  recompute?: boolean
  /** Adapters drop inputs at random. */
  training?: boolean
}

/**
 * Rows to grid cells. A cell past its sequence's end repeats some row; it comes after every real one, so causal attention
 * never reads it.
 */
const spreadRows = customFunction({
  inputs: ['tensor', 'tensor', 'tensor'],
  forward: (rows, spread, gather) => ({ outputs: rows.indexSelect(0, spread), saved: [gather] }),
  backward: ({ saved: [gather], gradients: [gradient] }) => [gradient!.indexSelect(0, gather!), null, null],
})

/** Grid cells back to rows. Cells past a sequence's end get no gradient, or they would pass one on to its keys and values. */
const gatherRows = customFunction({
  inputs: ['tensor', 'tensor', 'tensor'],
  forward: (cells, spread, gather) => ({ outputs: cells.indexSelect(0, gather), saved: [spread, gather] }),
  backward: ({ saved: [spread, gather], gradients: [gradient] }) => [
    gradient!.newZeros([spread!.size(0), gradient!.size(1)]).indexCopy_(0, gather!, gradient!),
    null,
    null,
  ],
})

function makeRotate(headDim: number) {
  const half = headDim / 2
  const turn = (x: Tensor, cos: Tensor, sin: Tensor, direction: 1 | -1): Tensor => {
    const [a, b] = [x.narrow(2, 0, half), x.narrow(2, half, half)]
    const first = a.mul(cos).addcmul_(b, sin, { value: -direction })
    const second = b.mul(cos).addcmul_(a, sin, { value: direction })
    return cat([first, second], 2)
  }
  return customFunction({
    inputs: ['tensor', 'tensor', 'tensor'],
    forward: (x, cos, sin) => ({ outputs: turn(x, cos, sin, 1), saved: [cos, sin] }),
    backward: ({ saved: [cos, sin], gradients: [gradient] }) => [turn(gradient!, cos!, sin!, -1), null, null],
  })
}
const rotations = new Map<number, ReturnType<typeof makeRotate>>()
function rotate(headDim: number) {
  let found = rotations.get(headDim)
  if (!found) {
    found = makeRotate(headDim)
    rotations.set(headDim, found)
  }
  return found
}

function attention(rows: Rows, { heads, kvHeads, headDim }: DecoderConfig, turned: Tensor, value: Tensor): Tensor {
  const width = heads * headDim
  // [sequence, head, position, dim]; the queries' and keys' heads come in one tensor.
  const grid = (x: Tensor, count: number): Tensor => {
    const cells = rows.kind === 'uniform' ? x : spreadRows(x, rows.spread, rows.gather)
    return cells.reshape([-1, rows.length, count, headDim]).transpose(1, 2)
  }
  const both = grid(turned, heads + kvHeads)
  const values = grid(value, kvHeads)
  const out = scaledDotProductAttention(both.narrow(1, 0, heads), both.narrow(1, heads, kvHeads), values, null, 0, {
    isCausal: true,
    enableGqa: heads !== kvHeads,
  })
  const flat = out.transpose(1, 2).reshape([-1, width])
  return rows.kind === 'uniform' ? flat : gatherRows(flat, rows.spread, rows.gather)
}

/** The hidden states after the final norm, `[rows, hidden]`. `cos` and `sin` are `[rows, 1, headDim / 2]`. */
export function decode(parts: DecoderParts, ids: Tensor, cos: Tensor, sin: Tensor, rows: Rows): Tensor {
  const { config, weights } = parts
  let x = embedding(weights.get('model.embed_tokens.weight')!, ids)
  for (let i = 0; i < config.layers; i++) {
    if (!parts.recompute) {
      x = layer(parts, i, x, cos, sin, rows)
    } else if (rows.kind === 'uniform') {
      const part = checkpoint(['tensor', 'tensor', 'tensor', 'number'], (x, cos, sin, length) =>
        layer(parts, i, x, cos, sin, { kind: 'uniform', length }),
      )
      x = part(x, cos, sin, rows.length as Sym)
    } else {
      const part = checkpoint(
        ['tensor', 'tensor', 'tensor', 'tensor', 'tensor', 'number'],
        (x, cos, sin, spread, gather, length) =>
          layer(parts, i, x, cos, sin, { kind: 'packed', length, spread, gather }),
      )
      x = part(x, cos, sin, rows.spread, rows.gather, rows.length as Sym)
    }
  }
  return rmsNorm(x, [config.hidden], weights.get('model.norm.weight')!, config.normEps)
}

function layer(parts: DecoderParts, index: number, x: Tensor, cos: Tensor, sin: Tensor, rows: Rows): Tensor {
  const { config, weights } = parts
  const { heads, kvHeads, headDim, hidden, inner, normEps } = config
  const at = `model.layers.${index}`
  const weight = (name: string): Tensor => weights.get(`${at}.${name}`)!
  const adapted = (out: Tensor, input: Tensor, projection: Projection): Tensor => {
    const low = parts.adapter?.(index, projection)
    if (!low) return out
    const dropped = parts.training && low.dropout > 0 ? dropout(input, low.dropout, { train: true }) : input
    return out.add(linear(linear(dropped, low.a), low.b), { alpha: low.scale })
  }

  const normed = rmsNorm(x, [hidden], weight('input_layernorm.weight'), normEps)
  const qkv = linear(normed, weight('self_attn.qkv.weight'), weights.get(`${at}.self_attn.qkv.bias`) ?? null)
  const [queries, keys] = [heads * headDim, kvHeads * headDim]
  let turned: Tensor
  let value = qkv.narrow(1, queries + keys, keys)
  if (config.qkNorm || parts.adapter) {
    let q = adapted(qkv.narrow(1, 0, queries), normed, 'q_proj').view([-1, heads, headDim])
    let k = adapted(qkv.narrow(1, queries, keys), normed, 'k_proj').view([-1, kvHeads, headDim])
    value = adapted(value, normed, 'v_proj')
    if (config.qkNorm) {
      q = rmsNorm(q, [headDim], weight('self_attn.q_norm.weight'), normEps)
      k = rmsNorm(k, [headDim], weight('self_attn.k_norm.weight'), normEps)
    }
    turned = cat([q, k], 1)
  } else {
    turned = qkv.narrow(1, 0, queries + keys).view([-1, heads + kvHeads, headDim])
  }
  const mixed = attention(rows, config, rotate(headDim)(turned, cos, sin), value)
  const output = linear(mixed, weight('self_attn.o_proj.weight'), weights.get(`${at}.self_attn.o_proj.bias`) ?? null)
  const middle = x.add(adapted(output, mixed, 'o_proj'))

  const again = rmsNorm(middle, [hidden], weight('post_attention_layernorm.weight'), normEps)
  const gateUp = linear(again, weight('mlp.gate_up.weight'))
  const gate = adapted(gateUp.narrow(1, 0, inner), again, 'gate_proj')
  const up = adapted(gateUp.narrow(1, inner, inner), again, 'up_proj')
  const act = gate.silu().mul(up)
  return middle.add(adapted(linear(act, weight('mlp.down_proj.weight')), act, 'down_proj'))
}
