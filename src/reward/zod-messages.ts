import type { z } from 'zod'
import { didYouMean } from '../errors/index.js'

/** What a schema found, a line each: where, what was expected, and for a key it does not know, which was probably meant. */
export function schemaMessages(error: z.ZodError, knownKeys: readonly string[]): string[] {
  return error.issues.map(issue => {
    const where = issue.path.join('.')
    if (issue.code === 'unrecognized_keys') {
      const unknown = issue.keys.map(key => `"${key}"${didYouMean(key, knownKeys)}`)
      return `${where === '' ? '' : `${where}: `}unknown ${unknown.join(', ')}`
    }
    const message = issue.message.replace(/^Invalid input: /, '')
    return `${where === '' ? '' : `${where}: `}${message}`
  })
}
