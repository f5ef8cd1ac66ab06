import type { z } from 'zod'
import { nearest } from './did-you-mean.js'
import { expectation } from './expectation.js'

export interface SchemaProblemOptions {
  /** The keys there are, for those that were misspelt or written in snake_case. */
  readonly known: readonly string[]
  /** What a key of another system is called here. */
  readonly otherWords?: Readonly<Record<string, string>>
  /** What a key that is missing is for. */
  readonly describe?: (key: string) => string | undefined
  /** What was given at a path: messages then say it, and what was expected, in words. */
  readonly valueAt?: (path: readonly PropertyKey[]) => unknown
}

/**
 * What a schema found, a line each: where, what was expected, and for a key it does not know, which was probably meant.
 *
 * @example
 * const schema = z.strictObject({ rewardClip: z.number() })
 * const result = schema.safeParse({ reward_clip: 1 })
 * if (!result.success) console.log(schemaProblems(result.error, { known: ['rewardClip'] }))
 * // there is no option "reward_clip"; did you mean rewardClip?
 */
export function schemaProblems(
  error: z.ZodError,
  { known, otherWords = {}, describe, valueAt }: SchemaProblemOptions,
): string[] {
  return error.issues.flatMap(issue => {
    const where = issue.path.join('.')
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map(key => {
        const name = where === '' ? key : `${where}.${key}`
        return `there is no option "${name}"${meant(key, known, otherWords)}`
      })
    if (issue.code === 'invalid_union' && 'options' in issue && issue.options) {
      const got = valueAt ? `, got ${JSON.stringify(valueAt(issue.path))}` : ''
      return [`${where}: expected one of ${issue.options.join(', ')}${got}`]
    }
    const missing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined')
    if (valueAt && !missing) return [`${where === '' ? '' : `${where}: `}${expectation(issue, valueAt(issue.path))}`]
    const expected = issue.message.replace(/^Invalid (input|option): /, '')
    if (missing) return [`${where}: missing; ${describe?.(where) ?? expected.replace(/, received undefined$/, '')}`]
    return [`${where === '' ? '' : `${where}: `}${expected}`]
  })
}

function meant(key: string, known: readonly string[], otherWords: Readonly<Record<string, string>>): string {
  const camel = key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
  if (known.includes(camel)) return `; did you mean ${camel}?`
  const here = (word: string): string => `; use ${otherWords[word]}`
  if (Object.hasOwn(otherWords, camel)) return here(camel)
  const near = nearest(camel, [...known, ...Object.keys(otherWords)])
  if (near === undefined) return ''
  return known.includes(near) ? `; did you mean ${near}?` : here(near)
}
