/**
 * One step of the decoder over rows of any sequences, written once for every device; what it is made of is a device's
 * `StepOps`.
 */
import type { DecoderParts, Projection } from '../../decoder/index.js'
import { cat, embedding, type Tensor } from '../../tensor/index.js'

/** What a device has operators of its own for. */
export interface StepOps {
  linear(x: Tensor, weight: Tensor, bias?: Tensor): Tensor
  rmsNorm(x: Tensor, weight: Tensor, eps: number): Tensor
  /** The norm of `x + residual`, and the sum. */
  addRmsNorm(x: Tensor, residual: Tensor, weight: Tensor, eps: number): readonly [normed: Tensor, sum: Tensor]
  /** A projection, its residual and the norm of their sum, where the device has something better than one after another. */
  linearAddRmsNorm?(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | undefined,
    residual: Tensor,
    norm: Tensor,
    eps: number,
  ): readonly [normed: Tensor, sum: Tensor]
  /** `silu(gate) * up` of `[rows, gate then up]`. */
  swiglu(gateUp: Tensor): Tensor
  /** That of a projection, where the device has something better than one after the other. */
  gatedLinear?(x: Tensor, weight: Tensor): Tensor
  /** Turns queries and keys by position, stores keys and values in the layer's cache, gives the queries. */
  rotateStore(qkv: Tensor, layer: number): Tensor
  /** Each row's attention over its sequence up to its position. */
  attend(queries: Tensor, layer: number): Tensor
}

/**
 * The normalised hidden states of the rows `wanted`, or undefined where none are wanted: then only keys and values are
 * stored.
 */
export function decodeStep(
  parts: DecoderParts,
  ops: StepOps,
  ids: Tensor,
  wanted: Tensor | 'all' | undefined,
): Tensor | undefined {
  const { config, weights } = parts
  const { heads, kvHeads, headDim, intermediate, normEps, layers } = config
  const last = layers - 1
  let residual = embedding(weights.get('model.embed_tokens.weight')!, ids)
  let normed = ops.rmsNorm(residual, weights.get('model.layers.0.input_layernorm.weight')!, normEps)
  for (let i = 0; i < layers; i++) {
    const at = `model.layers.${i}`
    const weight = (name: string): Tensor => weights.get(`${at}.${name}`)!
    const adapted = (out: Tensor, input: Tensor, projection: Projection): Tensor => {
      const low = parts.adapter?.(i, projection)
      return low ? out.add(ops.linear(ops.linear(input, low.a), low.b), { alpha: low.scale }) : out
    }
    /** Back into the stream between layers, and what the next part starts from. */
    const joined = (input: Tensor, projection: 'o_proj' | 'down_proj', path: string, norm: Tensor) => {
      const [matrix, bias] = [weight(`${path}.weight`), weights.get(`${at}.${path}.bias`)]
      if (ops.linearAddRmsNorm && !parts.adapter)
        return ops.linearAddRmsNorm(input, matrix, bias, residual, norm, normEps)
      return ops.addRmsNorm(adapted(ops.linear(input, matrix, bias), input, projection), residual, norm, normEps)
    }

    const gated = (input: Tensor, matrix: Tensor): Tensor => {
      if (ops.gatedLinear && !parts.adapter) return ops.gatedLinear(input, matrix)
      const gateUp = ops.linear(input, matrix)
      if (!parts.adapter) return ops.swiglu(gateUp)
      const gate = adapted(gateUp.narrow(1, 0, intermediate), input, 'gate_proj')
      return ops.swiglu(cat([gate, adapted(gateUp.narrow(1, intermediate, intermediate), input, 'up_proj')], 1))
    }

    let qkv = ops.linear(normed, weight('self_attn.qkv.weight'), weights.get(`${at}.self_attn.qkv.bias`))
    if (parts.adapter) {
      const [queries, keys] = [heads * headDim, kvHeads * headDim]
      const q = adapted(qkv.narrow(1, 0, queries), normed, 'q_proj')
      const k = adapted(qkv.narrow(1, queries, keys), normed, 'k_proj')
      qkv = cat([q, k, adapted(qkv.narrow(1, queries + keys, keys), normed, 'v_proj')], 1)
    }
    if (config.qkNorm) qkv = normHeads(parts, ops, qkv, at)
    const queries = ops.rotateStore(qkv, i)
    if (i === last && !wanted) return undefined
    let mixed = ops.attend(queries, i)
    if (i === last && wanted !== 'all') {
      // From here on rows no longer meet.
      mixed = mixed.indexSelect(0, wanted!)
      residual = residual.indexSelect(0, wanted!)
    }
    ;[normed, residual] = joined(mixed, 'o_proj', 'self_attn.o_proj', weight('post_attention_layernorm.weight'))
    const act = gated(normed, weight('mlp.gate_up.weight'))
    const next = i === last ? 'model.norm.weight' : `model.layers.${i + 1}.input_layernorm.weight`
    ;[normed, residual] = joined(act, 'down_proj', 'mlp.down_proj', weights.get(next)!)
  }
  return normed
}

/** Queries and keys of the layer `at`, normalised per head. */
export function normHeads(
  { config, weights }: DecoderParts,
  ops: Pick<StepOps, 'rmsNorm'>,
  qkv: Tensor,
  at: string,
): Tensor {
  const { heads, kvHeads, headDim, normEps } = config
  const [queries, keys] = [heads * headDim, kvHeads * headDim]
  const norm = (first: number, width: number, name: string): Tensor => {
    const each = qkv.narrow(1, first, width).reshape([-1, headDim])
    return ops.rmsNorm(each, weights.get(`${at}.self_attn.${name}.weight`)!, normEps).view([-1, width])
  }
  return cat([norm(0, queries, 'q_norm'), norm(queries, keys, 'k_norm'), qkv.narrow(1, queries + keys, keys)], 1)
}
