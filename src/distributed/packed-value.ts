/** Plain objects with typed arrays in them, as a part of an exchange and back. */
import type { Part, WireArray } from './frames.js'

const place = '$array'
const number = '$number'

export function packValue(value: unknown): Part {
  const arrays: WireArray[] = []
  const known = new Map<object, number>()
  const pack = (one: unknown): unknown => {
    // JSON has no such numbers.
    if (typeof one === 'number') return Number.isFinite(one) ? one : { [number]: String(one) }
    if (typeof one !== 'object' || one === null) return one
    if (ArrayBuffer.isView(one)) {
      const at = known.get(one) ?? arrays.push(one as WireArray) - 1
      known.set(one, at)
      return { [place]: at }
    }
    if (Array.isArray(one)) return one.map(pack)
    return Object.fromEntries(Object.entries(one).map(([key, part]) => [key, pack(part)]))
  }
  return { body: pack(value), arrays }
}

export function unpackValue<T>({ body, arrays }: Part): T {
  const unpack = (one: unknown): unknown => {
    if (typeof one !== 'object' || one === null) return one
    if (Array.isArray(one)) return one.map(unpack)
    if (place in one) return arrays[one[place] as number]
    if (number in one) return Number(one[number])
    return Object.fromEntries(Object.entries(one).map(([key, part]) => [key, unpack(part)]))
  }
  return unpack(body) as T
}
