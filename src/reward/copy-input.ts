/** Copies samples for reward functions: a function cannot change the training data. */
import type { RewardInput } from './input.js'

/** Media are copies already, which all samples of a prompt share. */
export function copyInput(input: RewardInput): RewardInput {
  const shared = new Map<object, unknown>()
  for (const { pixels, bytes } of [...(input.images ?? []), ...(input.videos ?? [])])
    for (const array of [pixels, bytes]) if (array) shared.set(array, array)
  return copied(input, shared) as RewardInput
}

/** Copies lists, plain objects and typed arrays deeply. Instances of other classes are passed on. */
function copied(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const known = seen.get(value)
  if (known !== undefined) return known
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const copy = (value as Uint8Array).slice()
    seen.set(value, copy)
    return copy
  }
  if (Array.isArray(value)) {
    const list: unknown[] = []
    seen.set(value, list)
    for (const one of value) list.push(copied(one, seen))
    return list
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy: Record<string, unknown> = Object.create(prototype as object | null)
  seen.set(value, copy)
  for (const [key, one] of Object.entries(value))
    Object.defineProperty(copy, key, {
      value: copied(one, seen),
      writable: true,
      enumerable: true,
      configurable: true,
    })
  return copy
}
