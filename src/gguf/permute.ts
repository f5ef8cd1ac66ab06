/** The order of a head's rows: halves one after the other (transformers), or alternating (llama.cpp). */
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Bytes copied before the event loop turns. */
const sliceBytes = 4 << 20

/** Copies rows from one order to the other. Rows of `bytes` belong to `heads` heads, one after the other. */
export async function permuteHeads(
  bytes: Uint8Array,
  { rows, heads, to }: { rows: number; heads: number; to: 'halves' | 'alternating' },
): Promise<Uint8Array> {
  const out = new Uint8Array(bytes.length)
  const rowBytes = bytes.length / rows
  const half = rows / heads / 2
  let copied = 0
  for (let row = 0; row < rows; row++) {
    const head = Math.floor(row / (2 * half))
    const [side, index] = [Math.floor((row % (2 * half)) / half), row % half]
    const alternating = head * 2 * half + 2 * index + side
    const [from, at] = to === 'halves' ? [alternating, row] : [row, alternating]
    out.set(bytes.subarray(from * rowBytes, (from + 1) * rowBytes), at * rowBytes)
    copied += rowBytes
    if (copied < sliceBytes) continue
    copied = 0
    await nextTurn()
  }
  return out
}
