/** Schemas of fields, with vLLM's messages. A list is checked up to its first wrong item: a million wrong items are one issue. */
import { z } from 'zod'

const should = (expected: string): { error: string } => ({ error: `Input should be a valid ${expected}` })
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isIds = (value: unknown): value is readonly number[] => Array.isArray(value) && value.every(Number.isSafeInteger)
const isText = (value: unknown): value is string => typeof value === 'string'
const listOf =
  <T>(is: (item: unknown) => item is T) =>
  (value: unknown): value is readonly T[] =>
    Array.isArray(value) && value.every(is)

export const integer = z.custom<number>(Number.isSafeInteger, should('integer'))
export const number = z.number(should('number'))
export const flag = z.boolean(should('boolean'))
export const string = z.string(should('string'))
export const side = z.enum(['left', 'right'], { error: 'Input should be left or right' })
export const object = z.custom<Readonly<Record<string, unknown>>>(isObject, should('dictionary'))
export const list = z.custom<readonly unknown[]>(Array.isArray, should('list'))
export const ids = z.custom<readonly number[]>(isIds, should('list of integers'))
export const objects = z.custom<readonly object[]>(listOf(isObject), should('list of dictionaries'))

const isTexts = listOf(isText)
export const strings = z
  .custom<string | readonly string[]>(value => isText(value) || isTexts(value), should('string or list of strings'))
  .transform(value => (typeof value === 'string' ? [value] : value))

/** A prompt of `/v1/completions`: text or ids. */
export type GivenPrompt = string | readonly number[]
const isPrompt = (value: unknown): value is GivenPrompt => isText(value) || isIds(value)
const isPrompts = listOf(isPrompt)
export const prompt = z
  .custom<GivenPrompt | readonly GivenPrompt[]>(
    value => isPrompt(value) || isPrompts(value),
    should('string, list of strings, list of integers or list of those'),
  )
  .transform((value): readonly GivenPrompt[] => {
    if (typeof value === 'string') return [value]
    return typeof value[0] === 'number' ? [value as readonly number[]] : (value as readonly GivenPrompt[])
  })

/** vLLM's options of reading media. Of them only the frame rate of a video that is given as frames has an effect here. */
const isMediaIo = (value: unknown): boolean =>
  isObject(value) &&
  Object.entries(value).every(
    ([kind, options]) =>
      isObject(options) &&
      Object.entries(options).every(([name, one]) => {
        if (kind !== 'video') return false
        if (name === 'fps') return typeof one === 'number' && one > 0 && Number.isFinite(one)
        // All frames, which are read anyway.
        return name === 'num_frames' && one === -1
      }),
  )
export const mediaIo = z.custom<{ readonly video?: { readonly fps?: number } }>(
  isMediaIo,
  should('dictionary with video.fps, a number above 0; this server supports nothing else'),
)

/** Keys are token ids in decimal: `"0x10"` and `""` are refused. */
const isBias = (value: unknown): boolean => {
  if (!isObject(value)) return false
  for (const id in value) {
    const bias = value[id]
    if (!/^(0|[1-9]\d{0,14})$/.test(id) || typeof bias !== 'number' || !(Math.abs(bias) <= 100)) return false
  }
  return true
}
export const logitBias = z.custom<Readonly<Record<string, number>>>(
  isBias,
  should('dictionary of token ids and numbers between -100 and 100'),
)
