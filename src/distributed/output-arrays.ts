/** Outputs and gradients of a model as arrays for another rank, and back. */
import type { Gradients, Outputs, Role } from '../model/index.js'
import type { Part, WireArray } from './frames.js'

type Numbers = { readonly first?: Float32Array; readonly second?: Float32Array }
type Wide = {
  readonly logprobs?: Float32Array
  readonly entropies?: Float32Array
  readonly values?: Float32Array
  readonly score?: number
}

const missing = -1

function numbersOf(role: Role, one: Wide): Numbers {
  if (role === 'language')
    return { ...(one.logprobs && { first: one.logprobs }), ...(one.entropies && { second: one.entropies }) }
  if (role === 'value') return one.values ? { first: one.values } : {}
  // A score is a float32 where it comes from; a gradient of it becomes one where it goes to.
  return one.score === undefined ? {} : { first: Float32Array.of(one.score) }
}

function joined(arrays: readonly (Float32Array | undefined)[]): { lengths: Int32Array; all: Float32Array } {
  const lengths = Int32Array.from(arrays, array => array?.length ?? missing)
  const all = new Float32Array(arrays.reduce((sum, array) => sum + (array?.length ?? 0), 0))
  let at = 0
  for (const array of arrays) {
    if (!array) continue
    all.set(array, at)
    at += array.length
  }
  return { lengths, all }
}

function split(lengths: Int32Array, all: Float32Array): (Float32Array | undefined)[] {
  let at = 0
  return Array.from(lengths, length => {
    if (length === missing) return undefined
    at += length
    return all.slice(at - length, at)
  })
}

/** Of `Outputs` and of `Gradients`: both have the same fields. */
export function outputsToPart<R extends Role>(role: R, outputs: readonly (Outputs[R] | Gradients[R])[]): Part {
  const numbers = outputs.map(one => numbersOf(role, one as Wide))
  const [first, second] = [joined(numbers.map(one => one.first)), joined(numbers.map(one => one.second))]
  return { body: null, arrays: [first.lengths, first.all, second.lengths, second.all] }
}

export function outputsFromPart<T extends Outputs[Role] | Gradients[Role]>(
  role: Role,
  arrays: readonly WireArray[],
): T[] {
  const [firstLengths, firstAll, secondLengths, secondAll] = arrays as [
    Int32Array,
    Float32Array,
    Int32Array,
    Float32Array,
  ]
  const first = split(firstLengths, firstAll)
  const second = split(secondLengths, secondAll)
  return first.map((own, i): T => {
    const other = second[i]
    if (role === 'language') return { ...(own && { logprobs: own }), ...(other && { entropies: other }) } as T
    return (role === 'value' ? { values: own } : { score: own?.[0] ?? Number.NaN }) as T
  })
}
