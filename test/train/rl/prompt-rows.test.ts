/** Which row of the data a prompt came from: acts that drop a prompt, and rewards that score again, read it off its id. */
import { expect, test } from 'vitest'
import { dataRowOf, visitOf } from '../../../src/train/records.js'

test('all visits of a row have its name', () => {
  const visits = ['a', 'a/0', 'a/12.1', 'a+1/3', 'a/3/spare', 'a/3/spare.2', 'a+1']
  expect(new Set(visits.map(dataRowOf))).toEqual(new Set(['a']))
  expect(['ab/0', 'b', 'a#1/0'].map(dataRowOf)).toEqual(['ab', 'b', 'a#1'])
  // Of the data: each visit of an epoch has its own name.
  expect(['a+1/3', 'a/3/spare.2'].map(visitOf)).toEqual(['a+1', 'a'])
})
