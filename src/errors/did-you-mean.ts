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

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
    row = next
  }
  return row[b.length]!
}
