/** Which rank computes which sequences. Pure. */

interface ShardOptions {
  readonly ranks: number
  /** This many consecutive sequences stay on one rank (pairs of a preference, samples of a prompt). Default 1. */
  readonly groupSize?: number
}

/**
 * The sequences of each rank, by their index in the call, in rising order. Longest first, each to the rank with the fewest tokens so
 * far: the ranks finish together, however ragged the lengths are. The same lengths always give the same plan.
 */
export function planShards(lengths: readonly number[], { ranks, groupSize = 1 }: ShardOptions): number[][] {
  if (lengths.length % groupSize !== 0)
    throw new RangeError(`${lengths.length} sequences do not make whole groups of ${groupSize}`)
  const groups = Array.from({ length: lengths.length / groupSize }, (_, g) => {
    const sequences = Array.from({ length: groupSize }, (_, i) => g * groupSize + i)
    return { sequences, tokens: sequences.reduce((sum, i) => sum + lengths[i]!, 0) }
  })
  groups.sort((a, b) => b.tokens - a.tokens || a.sequences[0]! - b.sequences[0]!)
  const loads = new Float64Array(ranks)
  const shards = Array.from({ length: ranks }, (): number[] => [])
  for (const { sequences, tokens } of groups) {
    let least = 0
    for (let rank = 1; rank < ranks; rank++) if (loads[rank]! < loads[least]!) least = rank
    loads[least]! += tokens
    shards[least]!.push(...sequences)
  }
  for (const shard of shards) shard.sort((a, b) => a - b)
  return shards
}

/** How much more than the mean the busiest rank has to compute, as a share: 0 where all have the same. */
export function imbalance(lengths: readonly number[], shards: readonly (readonly number[])[]): number {
  const loads = shards.map(shard => shard.reduce((sum, i) => sum + lengths[i]!, 0))
  const mean = loads.reduce((sum, load) => sum + load, 0) / loads.length
  return mean === 0 ? 0 : Math.max(...loads) / mean - 1
}
