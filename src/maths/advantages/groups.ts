/** The samples of one prompt. */
export interface Group {
  readonly promptId: string | number
  /** Where its samples stand in the rollout, in that order. */
  readonly places: readonly number[]
}

/** The groups of a rollout, in the order their first samples come; samples without a promptId are in none. */
export function groupsOf(samples: readonly { readonly promptId?: Group['promptId'] | undefined }[]): Group[] {
  const groups = new Map<Group['promptId'], number[]>()
  for (const [place, { promptId }] of samples.entries()) {
    if (promptId === undefined) continue
    const places = groups.get(promptId)
    if (places) places.push(place)
    else groups.set(promptId, [place])
  }
  return Array.from(groups, ([promptId, places]) => ({ promptId, places }))
}

/** The most frequent group size; of equally frequent ones the largest, because a group can only lose members. */
export function usualGroupSize(groups: readonly Group[]): number {
  const counts = new Map<number, number>()
  for (const { places } of groups) counts.set(places.length, (counts.get(places.length) ?? 0) + 1)
  const sizes = Array.from(counts).sort(([a, m], [b, n]) => n - m || b - a)
  return sizes[0]?.[0] ?? 0
}
