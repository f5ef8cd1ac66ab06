import { z } from 'zod'
import { text, UsageError } from './flags.js'

const mapping = text(
  'OUR=THEIR',
  'name of a column in the file, such as prompt=question; repeat for more columns',
  'such as prompt=question',
)

/** `--columns prompt=question`, of every verb that reads data without a config. */
export const columnsFlag = z.array(mapping).meta(mapping.meta()!).default([])

/** Our names to theirs. Several may stand in one flag, with commas. */
export function readColumns(pairs: readonly string[]): Record<string, string> {
  const entries = pairs
    .flatMap(pair => pair.split(','))
    .map(pair => {
      const at = pair.indexOf('=')
      if (at < 1 || at === pair.length - 1)
        throw new UsageError(`--columns: expected such as prompt=question, got "${pair}"`)
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
    })
  return Object.fromEntries(entries)
}
