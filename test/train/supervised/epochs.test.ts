/** Where epochs begin and end, and what a training lets go of. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { type Report, silentReport } from '../../../src/progress/index.js'
import { Run } from '../../../src/run/index.js'
import { supervisedSequence } from '../../../src/sequence/index.js'
import { memoryUse } from '../../../src/tensor/index.js'
import { preferenceSchema } from '../../../src/train/preference/config.js'
import { runPreference } from '../../../src/train/preference/job.js'
import { sftSchema } from '../../../src/train/sft/config.js'
import { runSft } from '../../../src/train/sft/job.js'
import { replaySupervised } from '../../../src/train/supervised/replay.js'
import { answerPairs } from '../../support/answers.js'
import { fresh, jsonl } from '../../support/files.js'
import { jobOf, trainingOf } from '../../support/supervised.js'
import { modelDirectory, tinyModel } from '../../support/tiny-model.js'

let model: string
beforeAll(async () => {
  model = await modelDirectory(1)
})

const rows = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ prompt: `Say ${i}`, completion: `word ${i}` }))
const long = { prompt: 'Say much', completion: 'word '.repeat(200) }

const configOf = (rest: Partial<z.input<typeof sftSchema>>) =>
  sftSchema.parse({ model, output: fresh('run'), overlong: 'drop', shuffle: false, batchSize: 3, ...rest })

describe('rows at the end of an epoch that are dropped', () => {
  test('end the training after the last batch there was, evaluated and saved', async () => {
    const config = configOf({ data: jsonl([...rows(9), long]), validationData: jsonl(rows(2)) })
    expect(await runSft(jobOf(config))).toMatchObject({ outcome: 'finished', step: 3, best: { step: 3 } })
    expect(existsSync(join(config.output, 'final_model'))).toBe(true)
    expect((await Run.read(config.output)).checkpoints).toEqual([3])
    expect(await replaySupervised(config.output)).toMatchObject({ batches: 3, rows: 9, mismatches: [] })
  })

  test('make no small batch of the next one', async () => {
    const config = configOf({ data: jsonl([...rows(9), long, long]), epochs: 2 })
    const { step } = await runSft(jobOf(config))
    expect(step).toBe(6)
    const view = await Run.read(config.output)
    expect(view.metrics.get('data/examples')?.map(({ value }) => value)).toEqual([3, 3, 3, 3, 3, 3])
    expect(await replaySupervised(config.output)).toMatchObject({ batches: 6, rows: 18, mismatches: [] })
  })

  test('of validation data, all of them, are an error rather than a mean of nothing', async () => {
    const config = configOf({ data: jsonl(rows(3)), validationData: jsonl([long]) })
    await expect(runSft(jobOf(config))).rejects.toThrow('validation: every example is skipped')
  })
})

test('the last batch of an epoch is a smaller one', async () => {
  const config = configOf({ data: jsonl(rows(7)), epochs: 2 })
  await runSft(jobOf(config))
  const { metrics } = await Run.read(config.output)
  expect(metrics.get('data/examples')?.map(({ value }) => value)).toEqual([3, 3, 1, 3, 3, 1])
  expect(metrics.get('data/epoch')?.map(({ value }) => value)).toEqual([3 / 7, 6 / 7, 1, 10 / 7, 13 / 7, 2])
})

test('a training leaves no tensor behind, finished or failed', async () => {
  const before = memoryUse().liveTensors
  const preferences = preferenceSchema.parse({
    ...{ model, reference: await modelDirectory(2), output: fresh('run'), lora: {} },
    data: jsonl(answerPairs(6, 1)),
    validationShare: 0.4,
  })
  await runPreference(jobOf(preferences))
  let ended = 0
  const report: Report = {
    ...silentReport,
    live: () => ({
      show() {},
      doing(stage) {
        if (stage === 'evaluating') throw new Error('the terminal is gone')
      },
      end: () => void ended++,
    }),
  }
  const config = configOf({ data: jsonl(rows(3)), validationData: jsonl(rows(2)) })
  await expect(runSft(jobOf(config, { report }))).rejects.toThrow('the terminal is gone')
  expect(memoryUse().liveTensors).toBe(before)
  // An error message is not written behind a line that is still there.
  expect(ended).toBe(1)
})

test('of models that are equally good, the one of lower validation loss is the best', async () => {
  const trained = await tinyModel('language')
  const ids = Int32Array.of(1, 2, 3, 4)
  const sequence = supervisedSequence({ ids, trained: Uint8Array.of(0, 1, 1, 1), promptId: 'a', row: {} })
  const examples = ['a', 'b', 'c', 'd'].map(where => ({ where, sequence, truncated: false }))
  const { training, run } = await trainingOf(
    trained,
    examples,
    { batchSize: 1, evalSteps: 1 },
    { validation: 'held out', bestBy: { metric: 'validation/accuracy', better: 'higher' } },
  )
  const measured = [
    { 'validation/accuracy': 0.8, 'loss/validation': 0.5 },
    { 'validation/accuracy': 0.9, 'loss/validation': 0.7 },
    { 'validation/accuracy': 0.9, 'loss/validation': 0.6 },
    { 'validation/accuracy': 0.9, 'loss/validation': 0.65 },
  ]
  const steps: (number | undefined)[] = []
  for await (const [row] of training.batches()) {
    await trained.forwardBackward([row!.sequence], () => [{ logprobs: Float32Array.of(1, 1, 1) }])
    const made = { ...(await trained.step(training.rates)), overflows: 0 }
    await training.stepped(made, {}, { tokens: 4, examples: 1 })
    await training.evaluateIfDue(async () => measured[training.step - 1]!)
    steps.push(training.best?.step)
  }
  await run.close('finished')
  expect(steps).toEqual([1, 2, 3, 3])
})
