/**
 * What a model answered for the sequences of pairs, as pairs again. Both of one come together, the chosen one first, where the
 * call has `groupSize: 2`.
 */
export function pairOutputs<O>(
  outputs: readonly O[],
  indices: readonly number[],
): { pair: number; chosen: O; rejected: O }[] {
  return Array.from({ length: outputs.length / 2 }, (_, k) => ({
    pair: indices[2 * k]! / 2,
    chosen: outputs[2 * k]!,
    rejected: outputs[2 * k + 1]!,
  }))
}
