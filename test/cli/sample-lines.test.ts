import { expect, test } from 'vitest'
import { samplesInOrder } from '../../src/api/samples-in-order.js'
import { sampleLine } from '../../src/cli/generate.js'
import { ScriptedGenerator } from '../support/doubles/scripted-generator.js'

const letters = (id: number): string => String.fromCharCode(97 + id)
/** Says back a prompt from its end, the longer the later: they finish in another order than they came. */
const backwards = (promptIds: Int32Array, sample: number): number[] => [...promptIds].reverse().slice(sample)

async function run(
  prompts: number[][],
  options: { n?: number; logprobs?: 'raw' | 'processed'; abortAfter?: number } = {},
) {
  const { n = 1, logprobs = 'raw', abortAfter = Number.POSITIVE_INFINITY } = options
  const generator = new ScriptedGenerator(backwards, 26, letters)
  const stop = new AbortController()
  const kinds: string[] = []
  let written = ''
  const given = {
    prompts: prompts.map(ids => ({ ids: Int32Array.from(ids) })),
    ...{ n, logprobs, sampling: { seed: 1, maxNewTokens: 3, text: 'plain' as const }, signal: stop.signal },
  }
  for await (const sample of samplesInOrder(generator, given)) {
    written += sampleLine(sample, logprobs)
    if (kinds.push(sample.error?.kind ?? 'completed') === abortAfter) stop.abort(new Error('stopped'))
  }
  const rows = written
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>)
  return { rows, kinds, generator }
}

test('lines in the order of the prompts, whatever order they finish in', async () => {
  const { rows, kinds } = await run([[4, 5, 6, 7, 8], [2], [3, 1]], { n: 2 })
  expect(rows.map(({ index, sample, text, finish_reason }) => [index, sample, text, finish_reason])).toEqual([
    [0, 0, 'ihg', 'length'],
    [0, 1, 'hgf', 'length'],
    [1, 0, 'c', 'stop'],
    [1, 1, '', 'stop'],
    [2, 0, 'bd', 'stop'],
    [2, 1, 'd', 'stop'],
  ])
  expect(rows[2]).toEqual({
    ...{ index: 1, sample: 0, prompt_ids: [2], ids: [2], text: 'c', logprobs: [-1], logprobs_mode: 'raw' },
    finish_reason: 'stop',
  })
  expect(kinds).toHaveLength(6)
})

test('a prompt without a response is a line that says why', async () => {
  const { rows, kinds } = await run([[1], [], [2]])
  expect(rows[1]).toEqual({ index: 1, sample: 0, error: { reason: 'empty-prompt', message: 'refused: empty-prompt' } })
  expect(kinds.sort()).toEqual(['completed', 'completed', 'rejected'])
})

test('thousands of prompts are asked for as there is room', async () => {
  const { rows, generator } = await run(Array.from({ length: 3000 }, (_, i) => [i % 26]))
  expect(rows.map(({ index }) => index)).toEqual(Array.from({ length: 3000 }, (_, i) => i))
  expect(generator.counts.generatedTokens).toBe(3000)
})

test('an interruption ends it, and a meaning the engine does not have is refused', async () => {
  await expect(run([[1, 2, 3], [4], [5]], { abortAfter: 1 })).rejects.toThrow('stopped')
  await expect(run([[1]], { logprobs: 'processed' })).rejects.toThrow('no processed log-probabilities, only raw')
})
