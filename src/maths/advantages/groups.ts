/** What tells one prompt's samples from another's: any key, equal for samples of the same prompt. */
export type GroupKey = string | number

export interface Group {
  readonly key: GroupKey
  /** Where its samples stand in the rollout, in that order. */
  readonly places: readonly number[]
}

/** The groups of a rollout, in the order their first samples come; samples without a key are in none. */
export function groupsOf(samples: readonly { readonly group?: GroupKey | undefined }[]): Group[] {
  const groups = new Map<GroupKey, number[]>()
  for (const [place, { group: key }] of samples.entries()) {
    if (key === undefined) continue
    const places = groups.get(key)
    if (places) places.push(place)
    else groups.set(key, [place])
  }
  return Array.from(groups, ([key, places]) => ({ key, places }))
}

/** The most frequent group size; of equally frequent ones the largest, because a group can only lose members. */
export function usualGroupSize(groups: readonly Group[]): number {
  const counts = new Map<number, number>()
  for (const { places } of groups) counts.set(places.length, (counts.get(places.length) ?? 0) + 1)
  const sizes = Array.from(counts).sort(([a, m], [b, n]) => n - m || b - a)
  return sizes[0]?.[0] ?? 0
}
