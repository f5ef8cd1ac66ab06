/** The vision tower, written once: patches in, rows for the decoder out. What differs between families is in their files. */
import {
  cat,
  checkpoint,
  customFunction,
  embedding,
  linear,
  type NumberLike,
  type Sym,
  scaledDotProductAttention,
  type Tensor,
} from '../../tensor/index.js'
import { project, type Tower } from './family.js'

/** `SegmentGroups` on a device. */
export interface Segments {
  order: Tensor | undefined
  inverse: Tensor | undefined
  groups: readonly { start: NumberLike; rows: NumberLike; length: NumberLike }[]
}

/** Where patches are: their rotations, float32 `[patches, head / 2]`, and which of them see each other. */
export interface PatchPlaces {
  cos: Tensor
  sin: Tensor
  frames: Segments
  windows: Segments | undefined
  table: { entries: Tensor; shares: Tensor } | undefined
}

/** Rows in another order; `inverse` is the way back. */
const reorder = customFunction({
  inputs: ['tensor', 'tensor', 'tensor'],
  forward: (rows, order, inverse) => ({ outputs: rows.indexSelect(0, order), saved: [inverse] }),
  backward: ({ saved: [inverse], gradients: [gradient] }) => [gradient!.indexSelect(0, inverse!), null, null],
})

function attend(qk: Tensor, value: Tensor, { order, inverse, groups }: Segments, heads: number): Tensor {
  const [pairs, values] = order ? [reorder(qk, order, inverse!), reorder(value, order, inverse!)] : [qk, value]
  const parts = groups.map(({ start, rows, length }) => {
    const part = (x: Tensor): Tensor => (groups.length === 1 ? x : x.narrow(0, start, rows))
    // [segment, head, row, dim]
    const grid = (x: Tensor): Tensor => x.unflatten(0, [-1, length]).transpose(1, 2)
    const pair = part(pairs)
    const query = grid(pair.narrow(1, 0, heads))
    const out = scaledDotProductAttention(query, grid(pair.narrow(1, heads, heads)), grid(part(values)))
    return out.transpose(1, 2).flatten(0, 1).flatten(1)
  })
  const out = parts.length === 1 ? parts[0]! : cat(parts, 0)
  return order ? reorder(out, inverse!, order) : out
}

function block(tower: Tower, i: number, x: Tensor, cos: Tensor, sin: Tensor, segments: Segments): Tensor {
  const { config, family, ops } = tower
  const { heads, width } = config
  const at = `blocks.${i}`
  const qkv = project(tower, `${at}.attn.qkv`, family.norm(tower, `${at}.norm1`, x))
  const [qk, value] = ops.rope({ rotated: 2 * heads, rest: heads, headDim: width / heads })(qkv, cos, sin)
  const middle = x.add(project(tower, `${at}.attn.proj`, attend(qk, value, segments, heads)))
  return middle.add(family.mlp(tower, at, family.norm(tower, `${at}.norm2`, middle)))
}

/** The block as a checkpoint: its inputs are what the backward pass keeps. */
function checkpointedBlock(tower: Tower, i: number, x: Tensor, cos: Tensor, sin: Tensor, segments: Segments): Tensor {
  const { order, inverse, groups } = segments
  const tensors = [x, cos, sin, ...(order ? [order, inverse!] : [])]
  const numbers = groups.flatMap(({ start, rows, length }) => [start, rows, length])
  const kinds = [...tensors.map(() => 'tensor' as const), ...numbers.map(() => 'number' as const)]
  return checkpoint(kinds as readonly ('tensor' | 'number')[], (...inputs) => {
    const [x, cos, sin, order, inverse] = inputs.slice(0, tensors.length) as Tensor[]
    const given = inputs.slice(tensors.length) as Sym[]
    const groups = Array.from({ length: given.length / 3 }, (_, k) => {
      const [start, rows, length] = given.slice(3 * k) as [Sym, Sym, Sym]
      return { start, rows, length }
    })
    return block(tower, i, x!, cos!, sin!, { order, inverse, groups })
  })(...tensors, ...numbers)
}

/**
 * The rows after the last block, then those after the blocks of `deepstack`, `[patches, width]` each. `patches`, in the weights'
 * dtype, have the numbers of a patch in the order of the projection's kernel.
 */
export function runBlocks(
  tower: Tower,
  patches: Tensor,
  { cos, sin, frames, windows, table }: PatchPlaces,
  { gradientCheckpointing }: { gradientCheckpointing: boolean },
): readonly Tensor[] {
  const { depth, deepstack, windows: windowed } = tower.config
  const kernel = tower.weight('patch_embed.proj.weight')!.flatten(1)
  let x = linear(patches, kernel, tower.weight('patch_embed.proj.bias'))
  if (table) {
    const around = embedding(tower.weight('pos_embed.weight')!, table.entries)
    x = x.add(around.mul(table.shares.typeAs(x).unsqueeze(2)).sum([0]))
  }
  const run = gradientCheckpointing ? checkpointedBlock : block
  const kept = new Map<number, Tensor>()
  for (let i = 0; i < depth; i++) {
    x = run(tower, i, x, cos, sin, windowed && !windowed.fullBlocks.includes(i) ? windows! : frames)
    if (deepstack.includes(i)) kept.set(i, x)
  }
  return [x, ...deepstack.map(i => kept.get(i)!)]
}
