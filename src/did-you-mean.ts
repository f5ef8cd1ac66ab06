/** `; did you mean --json?`, or nothing when no known name is near. A snake_case name is compared as camelCase. */
export function didYouMean(given: string, known: readonly string[], prefix = ''): string {
  const meant = given.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
  const near = known
    .map(name => ({ name, distance: editDistance(meant.toLowerCase(), name.toLowerCase()) }))
    .filter(
      ({ name, distance }) =>
        distance <= (name.length < 4 ? 1 : Math.max(2, Math.floor(name.length / 3))) || name.startsWith(given),
    )
    .sort((a, b) => a.distance - b.distance)[0]
  return near ? `; did you mean ${prefix}${near.name}?` : ''
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
