import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { LocalModel } from '../../src/model/index.js'
import { atEnd } from './at-end.js'
import { expectClose } from './close.js'
import { temporaryDirectory } from './files.js'

// Small random models written by transformers, with the numbers it computes from them.
const fixtures = new URL('../fixtures/models/', import.meta.url)
export const fixture = (name: string): string => new URL(name, fixtures).pathname
export const readCase = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`${name}/case.json`, fixtures), 'utf8')) as T

let made: string | undefined
/** A directory of the test file's own, removed after its tests. */
export function temporary(name: string): string {
  if (made === undefined) {
    made = temporaryDirectory()
    atEnd(() => {
      made = undefined
    })
  }
  return join(made, name)
}

/** Ids that depend on nothing but their place, for models of `vocabSize` tokens. */
export function sequenceOf(length: number, seed: number, vocabSize = 37): Int32Array {
  let state = seed * 2654435761 + 12345
  return Int32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 8) % vocabSize
  })
}

export const sequences = (lengths: readonly number[], vocabSize = 37): Int32Array[] =>
  lengths.map((length, i) => sequenceOf(length, i + 1, vocabSize))

export const raggedLengths = fc.array(fc.integer({ min: 2, max: 24 }), { minLength: 1, maxLength: 6 })

/** Weights of a loss over tokens, the same however they are batched. */
export const lossWeight = (sequence: number, token: number, salt = 0): number =>
  Math.sin(1 + 3 * sequence + 0.7 * token + salt)

export const weights = (sequence: number, length: number, salt = 0): Float32Array =>
  Float32Array.from({ length }, (_, t) => lossWeight(sequence, t, salt))

/** Faster than a deep comparison where there are many numbers. */
export const sameBits = (a: ArrayBufferView, b: ArrayBufferView): boolean =>
  Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(Buffer.from(b.buffer, b.byteOffset, b.byteLength))

type Numbers = Float32Array | Float64Array

/** Takes the accumulated gradients by name, and drops them. */
export async function takeGradients(model: LocalModel): Promise<Map<string, Numbers>> {
  const found = new Map<string, Numbers>()
  for (const [name, tensor] of model.gradients()) {
    found.set(name, await tensor.data<'float32' | 'float64'>())
    tensor.dispose()
  }
  model.zeroGrad()
  return found
}

/** Relative to the largest: float32 sums in another order differ by rounding. */
function scaleOf(values: Numbers): number {
  let most = 1
  for (let i = 0; i < values.length; i++) most = Math.max(most, Math.abs(values[i]!))
  return most
}

/** How far gradients are from others, at most. */
export function farthest(actual: ReadonlyMap<string, Numbers>, expected: ReadonlyMap<string, Numbers>): number {
  let most = 0
  for (const [name, values] of expected) {
    const scale = scaleOf(values)
    const found = actual.get(name)!
    for (let i = 0; i < found.length; i++) most = Math.max(most, Math.abs(found[i]! - values[i]!) / scale)
  }
  return most
}

export function expectSameGradients(
  actual: ReadonlyMap<string, Numbers>,
  expected: ReadonlyMap<string, Numbers>,
  tolerance = 1e-5,
): void {
  expect([...actual.keys()]).toEqual([...expected.keys()])
  for (const [name, values] of expected) expectClose(actual.get(name)!, values, tolerance * scaleOf(values), name)
}

/** A change of one weight, by the checkpoint's name in a fused or whole tensor. */
export function nudge(model: LocalModel, name: string, index: number, by: number): void {
  const view = model.parts.weights.get(name)!.bytes()
  new Float32Array(view.buffer, view.byteOffset)[index]! += by
}
