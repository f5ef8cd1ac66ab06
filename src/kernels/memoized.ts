/** `make`, called once for each key, however often it is asked; keys are the same where their JSON is. */
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
