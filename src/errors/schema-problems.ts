import type { z } from 'zod'
import { nearest } from './did-you-mean.js'
import { expectation } from './expectation.js'
import { type Problem, problemOf } from './problem.js'

interface SchemaProblemOptions {
  /** The known keys, for suggestions. */
  readonly known: readonly string[]
  /** Our names for keys of other systems. */
  readonly otherWords?: Readonly<Record<string, string>>
  /** Describes a missing key. */
  readonly describe?: (key: string) => string | undefined
  /** The value at a path, so that messages can quote it. */
  readonly valueAt?: (path: readonly PropertyKey[]) => unknown
}

/** Looks up the value at a path of what was given: the `valueAt` of {@link schemaProblems}. */
export const valueIn =
  (given: unknown) =>
  (path: readonly PropertyKey[]): unknown =>
    path.reduce((value, key) => (value as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key], given)

/** Problems that a schema found, one line each: path, expected value, and a suggestion for an unknown key. */
export function schemaProblems(error: z.ZodError, options: SchemaProblemOptions): string[] {
  return schemaProblemList(error, options).map(({ message }) => message)
}

/** The same, with its parts. */
export function schemaProblemList(
  error: z.ZodError,
  { known, otherWords = {}, describe, valueAt }: SchemaProblemOptions,
): Problem[] {
  return error.issues.flatMap((issue): Problem[] => {
    const where = issue.path.join('.')
    const path = where === '' ? {} : { path: where }
    const named = (text: string): string => (where === '' ? text : `${where}: ${text}`)
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map(key => {
        const name = where === '' ? key : `${where}.${key}`
        const hint = meant(key, known, otherWords)
        const message = `there is no option "${name}"${hint === undefined ? '' : `; ${hint}`}`
        return { message, path: name, ...(hint === undefined ? {} : { hint }) }
      })
    if (issue.code === 'invalid_union' && 'options' in issue && issue.options) {
      const got = valueAt ? { got: JSON.stringify(valueAt(issue.path)) } : {}
      const expected = `one of ${issue.options.join(', ')}`
      return [
        { message: `${where}: expected ${expected}${valueAt ? `, got ${got.got}` : ''}`, ...path, expected, ...got },
      ]
    }
    const missing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined')
    if (valueAt && !missing)
      return [problemOf(named(expectation(issue, valueAt(issue.path))))].map(one => ({ ...one, ...path }))
    const expected = issue.message.replace(/^Invalid (input|option): /, '')
    if (missing) {
      const wanted = describe?.(where) ?? expected.replace(/, received undefined$/, '')
      return [{ message: `${where}: missing; ${wanted}`, ...path, expected: wanted }]
    }
    return [{ ...problemOf(named(expected)), ...path }]
  })
}

function meant(
  key: string,
  known: readonly string[],
  otherWords: Readonly<Record<string, string>>,
): string | undefined {
  const camel = key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
  if (known.includes(camel)) return `did you mean ${camel}?`
  const here = (word: string): string => `use ${otherWords[word]}`
  if (Object.hasOwn(otherWords, camel)) return here(camel)
  const near = nearest(camel, [...known, ...Object.keys(otherWords)])
  if (near === undefined) return undefined
  return known.includes(near) ? `did you mean ${near}?` : here(near)
}
