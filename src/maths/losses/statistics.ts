/**
 * How a statistic of parts becomes that of the whole: `sum` of counts, `max`, or the mean weighted by the count of that name.
 */
export type Merging<S> = { readonly [K in keyof S]-?: 'sum' | 'max' | (keyof S & string) }

/** Statistics of the micro-batches of one update, as one. A statistic that a part does not have is left out of it. */
export function mergeStatistics<S extends object>(parts: readonly S[], merging: Merging<S>): S {
  const merged: Partial<Record<keyof S, number>> = {}
  for (const key of Object.keys(merging) as (keyof S & string)[]) {
    const having = parts.filter(part => part[key] !== undefined)
    const values = having.map(part => part[key] as number)
    const way = merging[key] as string
    if (way === 'sum') merged[key] = sum(values)
    else if (values.length === 0) continue
    else if (way === 'max') merged[key] = values.reduce((a, b) => Math.max(a, b))
    else {
      const counts = having.map(part => part[way as keyof S] as number)
      merged[key] = share(sum(values.map((value, i) => value * counts[i]!)), sum(counts))
    }
  }
  return merged as S
}

/** The mean of nothing is 0, because a log cannot hold NaN. */
export const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole)

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
