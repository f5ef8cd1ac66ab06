/** Reward models learn which of two answers is the better one, and say how sure they may be. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { losses, type PairLoss } from '../../../src/maths/index.js'
import { LocalModel } from '../../../src/model/index.js'
import { supervisedSequence } from '../../../src/sequence/index.js'
import { calibrationError } from '../../../src/train/reward-model/calibration.js'
import { rewardModelSchema } from '../../../src/train/reward-model/config.js'
import { runRewardModel } from '../../../src/train/reward-model/job.js'
import { evaluateRewardModel } from '../../../src/train/reward-model/loop.js'
import { answerPairs, shuffledLabels } from '../../support/answers.js'
import { fresh, jsonl } from '../../support/files.js'
import { jobOf, setOf, weightsOf } from '../../support/supervised.js'
import { modelDirectory, tinyModel } from '../../support/tiny-model.js'
import { heldAccuracy, margin } from './held-accuracy.js'

const configOf = (rest: Partial<z.input<typeof rewardModelSchema>>) =>
  rewardModelSchema.parse({ output: fresh('run'), saveSteps: 1000, batchSize: 20, ...rest })

describe('a reward model ranks held-out pairs', () => {
  test(`more than ${margin} of them`, async () => {
    expect(await heldAccuracy(1)).toBeGreaterThan(margin)
  })

  test('control: with labels that say nothing it does not', async () => {
    expect(await heldAccuracy(1, shuffledLabels)).toBeLessThan(margin)
  })
})

describe('what is trained', () => {
  const trained = async (rest: Partial<z.input<typeof rewardModelSchema>>) => {
    const model = await modelDirectory(1)
    const config = configOf({ model, data: jsonl(answerPairs(20, 1)), optimizer: { lr: 1e-3 }, ...rest })
    await runRewardModel(jobOf(config))
    const weights = async (directory: string) => {
      const loaded = await LocalModel.load(directory, { role: 'reward', seed: config.seed })
      const found = await weightsOf(loaded)
      loaded.dispose()
      return found
    }
    const [before, after] = [await weights(config.model), await weights(join(config.output, 'final_model'))]
    const changed = [...before].filter(([name, values]) => !values.every((value, i) => value === after.get(name)![i]))
    return { config, changed: changed.map(([name]) => name) }
  }

  test('a frozen backbone leaves the head alone to be trained', async () => {
    expect((await trained({ freezeBackbone: true })).changed).toEqual(['score.weight'])
  })

  test('an adapter trains the head and what it adapts, and is written on its own too', async () => {
    const { changed, config } = await trained({ lora: { rank: 2, alpha: 4, targets: ['down_proj'] } })
    expect(changed).toContain('score.weight')
    expect(changed.filter(name => name.includes('embed'))).toEqual([])
    expect(changed.filter(name => name.includes('down_proj')).length).toBe(2)
    expect(existsSync(join(config.output, 'best_adapter', 'adapter_model.safetensors'))).toBe(true)
  })

  test('a reward model goes on where it was', async () => {
    const data = jsonl(answerPairs(60, 1))
    const first = configOf({ model: await modelDirectory(1), data, optimizer: { lr: 3e-3 }, epochs: 2 })
    const { metrics } = await runRewardModel(jobOf(first))
    const second = configOf({ model: join(first.output, 'final_model'), data, optimizer: { lr: 1e-5 }, maxSteps: 1 })
    const gone = await runRewardModel(jobOf(second))
    expect(gone.metrics['loss/train']).toBeLessThan(2 * metrics['loss/train']! + 0.05)
  })

  test('a frozen backbone has no place for an adapter', () => {
    const result = rewardModelSchema.safeParse({ model: 'm', data: 'd', output: 'o', freezeBackbone: true, lora: {} })
    expect(result.error?.issues.map(({ path }) => path.join('.'))).toEqual(['freezeBackbone'])
  })
})

test('margins of rows take the place of the one in the config', async () => {
  const model = await tinyModel('reward')
  const answer = (seed: number) => {
    const ids = Int32Array.from({ length: 6 }, (_, t) => (seed * 7 + t * 3) % 40)
    return supervisedSequence({ ids, trained: Uint8Array.of(0, 0, 1, 1, 1, 1), promptId: 'a', row: {} })
  }
  const row = { where: 'rows.jsonl:1', chosen: answer(1), rejected: answer(2) }
  const { signal } = new AbortController()
  const loss = async (margin: number, own: object) => {
    const validation = setOf([{ ...row, ...own }])
    const ranking: PairLoss = call => losses['reward-model'].compute({ ...call, options: { margin } })
    const found = await evaluateRewardModel({ model, validation, loss: ranking, signal })
    return found['loss/validation']
  }
  expect(await loss(5, { margin: 1 })).toBe(await loss(1, {}))
  expect(await loss(5, {})).toBeGreaterThan(await loss(1, {}))
})

describe('calibration', () => {
  const logit = (p: number) => Math.log(p / (1 - p))

  test('is perfect where a confidence is right as often as it says', () => {
    const sure = logit(0.75)
    expect(calibrationError([sure, sure, sure, -sure])).toBeCloseTo(0, 12)
    expect(calibrationError([0, 0])).toBe(0)
  })

  test('counts how far bins are off, each by its pairs', () => {
    // Nine of ten sure by 0.75 and always right: off by 0.25; one sure by 0.95 and wrong: off by 0.95.
    const differences = [...Array<number>(9).fill(logit(0.75)), -logit(0.95)]
    expect(calibrationError(differences)).toBeCloseTo(0.9 * 0.25 + 0.1 * 0.95, 12)
  })

  test('takes scores of any size', () => {
    expect(calibrationError([1e6, -1e6])).toBeCloseTo(0.5, 12)
  })
})
