/**
 * One decode step of a Qwen2.5-0.5B shape out of plain operators, with random weights. peer.py has the same in Python.
 */
import { cat, embedding, linear, randn, rmsNorm, scaledDotProductAttention, scope, Tensor } from 'whetstone/tensor'

export const shape = {
  layers: 24,
  hidden: 896,
  heads: 14,
  kvHeads: 2,
  dim: 64,
  intermediate: 4864,
  vocab: 151936,
  context: 256,
}
const EPS = 1e-6
const device = 'cuda'
const dtype = 'bfloat16'

/** @param {number[]} size */
const random = (...size) => scope(() => randn(size, { device }).mul(0.02).cast(dtype))
/** @param {number[]} size */
const ones = (...size) => Tensor.empty(size, { device, dtype }).fill_(1)

export function makeModel() {
  const { layers, hidden, heads, kvHeads, dim, intermediate, vocab } = shape
  return {
    embed: random(vocab, hidden),
    norm: ones(hidden),
    cos: random(1, 1, 1, dim),
    sin: random(1, 1, 1, dim),
    layers: Array.from({ length: layers }, () => ({
      norm1: ones(hidden),
      q: random(heads * dim, hidden),
      qBias: random(heads * dim),
      k: random(kvHeads * dim, hidden),
      kBias: random(kvHeads * dim),
      v: random(kvHeads * dim, hidden),
      vBias: random(kvHeads * dim),
      o: random(hidden, heads * dim),
      norm2: ones(hidden),
      gate: random(intermediate, hidden),
      up: random(intermediate, hidden),
      down: random(hidden, intermediate),
    })),
  }
}

/** @param {Tensor} x @param {Tensor} cos @param {Tensor} sin */
function rotate(x, cos, sin) {
  const [a, b] = /** @type {[Tensor, Tensor]} */ (x.chunk(2, -1))
  return x.mul(cos).add(cat([b.neg(), a], -1).mul(sin))
}

/** @typedef {ReturnType<typeof makeModel>} Model */
/** @typedef {{ keys: Tensor, values: Tensor }} Cache */

/** Keys and values of a full context, by layer. @param {number} batch @returns {Cache[]} */
export function makeCache(batch) {
  const { kvHeads, dim, context, layers } = shape
  return Array.from({ length: layers }, () => ({
    keys: random(batch, kvHeads, context, dim),
    values: random(batch, kvHeads, context, dim),
  }))
}

/** @param {Model} model @param {Model['layers'][number]} w @param {Cache} cache @param {number} batch @param {Tensor} x @param {Tensor} position */
function layer(model, w, { keys, values }, batch, x, position) {
  const { hidden, heads, kvHeads, dim } = shape
  const n = rmsNorm(x, [hidden], w.norm1, EPS)
  const q = linear(n, w.q, w.qBias).view([batch, heads, 1, dim])
  const k = linear(n, w.k, w.kBias).view([batch, kvHeads, 1, dim])
  const v = linear(n, w.v, w.vBias).view([batch, kvHeads, 1, dim])
  keys.indexCopy_(2, position, rotate(k, model.cos, model.sin))
  values.indexCopy_(2, position, v)
  const rotated = rotate(q, model.cos, model.sin)
  const mixed = scaledDotProductAttention(rotated, keys, values, null, 0, { enableGqa: true })
  const middle = x.add(linear(mixed.view([batch, hidden]), w.o))
  const m = rmsNorm(middle, [hidden], w.norm2, EPS)
  return middle.add(linear(linear(m, w.gate).silu().mul(linear(m, w.up)), w.down))
}

/**
 * Token ids `[batch]` and the position `[1]` to the next ids `[batch]`; keys and values are written to the cache.
 *
 * @param {Model} model @param {Cache[]} cache @param {number} batch @param {Tensor} ids @param {Tensor} position
 */
export function step(model, cache, batch, ids, position) {
  let x = embedding(model.embed, ids)
  for (const [i, w] of model.layers.entries()) x = scope(() => layer(model, w, cache[i], batch, x, position))
  return linear(rmsNorm(x, [shape.hidden], model.norm, EPS), model.embed).argmax(-1)
}
