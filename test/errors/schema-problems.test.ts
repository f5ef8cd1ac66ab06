import { expect, test } from 'vitest'
import { z } from 'zod'
import { schemaProblems } from '../../src/errors/index.js'

test('a value of none of the known kinds: the kinds there are, in plain words', () => {
  const schema = z.object({
    source: z.discriminatedUnion('type', [
      z.object({ type: z.literal('rule') }),
      z.object({ type: z.literal('remote'), url: z.string() }),
    ]),
  })
  const given: { source: { type: string } } = { source: { type: 'http' } }
  const { error } = schema.safeParse(given)
  expect(schemaProblems(error!, { known: [] })).toEqual(['source.type: expected one of rule, remote'])
  const valueAt = (path: readonly PropertyKey[]): unknown =>
    path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown>)[key], given)
  expect(schemaProblems(error!, { known: [], valueAt })).toEqual([
    'source.type: expected one of rule, remote, got "http"',
  ])
})
