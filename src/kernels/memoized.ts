/** Calls `make` once for each key. Keys with equal JSON are equal. */
export function memoized<K, V>(make: (key: K) => V): (key: K) => V {
  const known = new Map<string, V>()
  return key => {
    const name = JSON.stringify(key)
    let value = known.get(name)
    if (value === undefined) {
      value = make(key)
      known.set(name, value)
    }
    return value
  }
}
