import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replayRl } from '../../../src/train/rl/index.js'
import { fresh } from '../../support/files.js'
import { finalWeights, metricLines, smallRun, start } from '../../support/rl.js'

const base = await smallRun({ seed: 1, prompts: 6 })

test('a run leaves models that load, metrics of every iteration, and a journal that replays', async () => {
  const output = fresh('run')
  const result = await start({ ...base, output, algorithm: 'grpo' })
  expect(result).toMatchObject({ outcome: 'finished', step: 3, directory: output })
  for (const name of [
    'config.json',
    'final_model/config.json',
    'best_model/model.safetensors',
    'tokenizer/tokenizer.json',
  ])
    expect(existsSync(join(output, name)), name).toBe(true)
  const lines = await metricLines(output)
  expect(lines.map(({ step }) => step)).toEqual([1, 2, 3])
  expect(Object.keys(lines[0]!.values)).toEqual(
    expect.arrayContaining([
      'reward/mean',
      'reward/std',
      'kl/mean',
      'entropy/mean',
      'gap/mean',
      'grad/norm',
      'seconds/update',
    ]),
  )
  expect(await replayRl(output)).toMatchObject({
    iterations: 3,
    samples: 24,
    updates: 3,
    mismatches: [],
    notCompared: [],
  })
})

test('the same seed gives the same weights to the bit, another seed others', async () => {
  const [a, b, c] = [fresh('run'), fresh('run'), fresh('run')]
  await start({ ...base, output: a })
  await start({ ...base, output: b })
  await start({ ...base, output: c, seed: 1 })
  expect(finalWeights(a).equals(finalWeights(b))).toBe(true)
  expect(finalWeights(a).equals(finalWeights(c))).toBe(false)
})
