import type { z } from 'zod'
import { didYouMean } from './did-you-mean.js'

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'an object of options',
  record: 'values by name',
}

/**
 * What a schema expected of a value, in words: `expected a number above 0, got -1`. A message of the schema comes first; messages
 * of zod speak of types.
 */
export function expectation(issue: z.core.$ZodIssue, value: unknown): string {
  const wanted = expected(issue, value)
  if (wanted === undefined)
    return /^expected .*(?<!, got .*)$/.test(issue.message) ? `${issue.message}, got ${shown(value)}` : issue.message
  const got = `expected ${wanted}, got ${shown(value)}`
  return issue.code === 'invalid_value' && typeof value === 'string'
    ? `${got}${didYouMean(value, issue.values.map(String))}`
    : got
}

function expected(issue: z.core.$ZodIssue, value: unknown): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return kinds[issue.expected]
    case 'invalid_value':
      return issue.values.length === 1 ? String(issue.values[0]) : `one of ${issue.values.join(', ')}`
    case 'too_small':
      return bound(issue.origin, value, issue.inclusive ? 'at least' : 'above', String(issue.minimum))
    case 'too_big':
      return bound(issue.origin, value, issue.inclusive ? 'at most' : 'below', String(issue.maximum))
    default:
      return undefined
  }
}

function bound(origin: string, value: unknown, comparison: string, limit: string): string | undefined {
  if (origin === 'string') return value === '' ? 'some text' : `${comparison} ${limit} characters`
  if (origin === 'array') return `${comparison} ${limit} ${limit === '1' ? 'entry' : 'entries'}`
  const article = origin === 'int' ? 'an integer' : 'a number'
  return comparison.startsWith('at') ? `${article} of ${comparison} ${limit}` : `${article} ${comparison} ${limit}`
}

/** As it would be written, cut where it is long. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}
