/** `; did you mean --json?`, or nothing when no known name is near. */
export function didYouMean(given: string, known: readonly string[], prefix = ''): string {
  const near = nearest(given, known)
  return near === undefined ? '' : `; did you mean ${prefix}${near}?`
}

/** The known name that was probably meant. */
export function nearest(given: string, known: readonly string[]): string | undefined {
  return known
    .map(name => ({ name, distance: editDistance(given.toLowerCase(), name.toLowerCase()) }))
    .filter(
      ({ name, distance }) => distance <= (name.length < 6 ? 1 : Math.floor(name.length / 3)) || name.startsWith(given),
    )
    .sort((a, b) => a.distance - b.distance)[0]?.name
}

/** Two letters that have changed places count as one mistake. */
function editDistance(a: string, b: string): number {
  const first = Array.from({ length: b.length + 1 }, (_, index) => index)
  const rows = [first]
  for (let i = 1; i <= a.length; i++) {
    const [before, row] = [rows[i - 1]!, [i]]
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(before[j]! + 1, row[j - 1]! + 1, before[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwapped) row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
