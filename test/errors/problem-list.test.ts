import { expect, test } from 'vitest'
import { ProblemList } from '../../src/errors/index.js'

test('problems are listed by files and lines, however they were found', () => {
  const list = new ProblemList(4)
  for (const line of [12, 3, 100, 7, 1, 20, 2]) list.add(`rows.jsonl:${line}`, 'no prompt')
  list.add('rows.jsonl:5', 'expected text, got 3')
  expect(list.count).toBe(8)
  expect(list.lines).toEqual([
    '  rows.jsonl:1: no prompt',
    '  rows.jsonl:2: no prompt',
    '  rows.jsonl:3: no prompt',
    '  rows.jsonl:5: expected text, got 3',
    '  and 4 more',
    'by reason:',
    '  7 no prompt',
    '  1 expected text',
  ])
})

test('where places are equal, in the order in which they were found', () => {
  const list = new ProblemList(2)
  for (const message of ['first', 'second', 'third']) list.add('rows.jsonl:1', message)
  expect(list.lines).toEqual(['  rows.jsonl:1: first', '  rows.jsonl:1: second', '  and 1 more'])
})
