import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pipeline } from '../../src/index.js'
import { fresh } from '../support/files.js'
import { base, conversations, preferences, prompts, quickly } from '../support/pipeline.js'

async function* streamed<T>(rows: readonly T[]): AsyncGenerator<T> {
  for (const row of rows) yield row
}

test('a pipeline takes rows of a program; rows that have changed make a stage again', async () => {
  const given = (sft: readonly object[]) => ({
    ...quickly({ saveDir }),
    sftDataPath: sft,
    rewardDataPath: streamed(preferences),
    ppoDataPath: prompts,
  })
  const saveDir = fresh('rows')
  const stages = ['sft'] as const
  const outcomes = async (rows: readonly object[]) =>
    (await pipeline(given(rows), { stages })).stages.map(({ outcome }) => outcome)
  expect(await outcomes(conversations)).toEqual(['finished'])
  expect(readFileSync(join(saveDir, 'data/sftDataPath.jsonl'), 'utf8')).toBe(
    conversations.map(row => `${JSON.stringify(row)}\n`).join(''),
  )
  expect(await outcomes(conversations)).toEqual(['skipped'])
  expect(await outcomes(conversations.slice(1))).toEqual(['finished'])
})

test('what is wrong with the options is found before rows are written', async () => {
  const saveDir = fresh('refused')
  await expect(pipeline({ baseModel: base, saveDir, sftDataPath: conversations, seed: -1 })).rejects.toThrow(/seed/)
  expect(() => readFileSync(join(saveDir, 'data/sftDataPath.jsonl'))).toThrow('ENOENT')
  const bad = [{ messages: new Date() }] as unknown as object[]
  await expect(pipeline({ baseModel: base, saveDir, sftDataPath: bad })).rejects.toThrow(
    'sftDataPath: row 1, field messages: JSON cannot represent an object of class Date',
  )
})
