/** Preference training: what the reference is asked, and what is refused. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { z } from 'zod'
import { LocalModel } from '../../../src/model/index.js'
import { firstTrained, promptSequence, withAnswer } from '../../../src/sequence/index.js'
import { preferenceSchema } from '../../../src/train/preference/config.js'
import { runPreference } from '../../../src/train/preference/job.js'
import { ReferenceLogprobs } from '../../../src/train/preference/reference-logprobs.js'
import { mismatchedResponses } from '../../../src/train/preference/responses.js'
import { answerPairs, labelledAnswers } from '../../support/answers.js'
import { fresh, jsonl } from '../../support/files.js'
import { flipBit } from '../../support/run.js'
import { jobOf, stoppingReport } from '../../support/supervised.js'
import { modelDirectory, tinyModel } from '../../support/tiny-model.js'

const configOf = (rest: Partial<z.input<typeof preferenceSchema>>) =>
  preferenceSchema.parse({ output: fresh('run'), saveSteps: 1000, batchSize: 20, ...rest })

describe('the reference', () => {
  const pairs = answerPairs(24, 1)
  const rowsOf = (loss: string) => jsonl(loss === 'kto' ? labelledAnswers(pairs) : pairs)
  const scored = () => vi.spyOn(LocalModel.prototype, 'score')
  afterEach(() => void vi.restoreAllMocks())

  test.each([
    // All 48 responses in one call before the first step, and one call per evaluation, of the start too.
    { loss: 'dpo', epochs: 3, calls: 1 + 4 },
    { loss: 'ipo', epochs: 1, calls: 1 + 2 },
    // Responses under other prompts too; at each step, and beside each evaluation, those are scored by the policy as it is.
    { loss: 'kto', epochs: 2, calls: 1 + 2 * 6 + 3 * 2 },
  ] as const)('$loss: is asked once, whatever the epochs', async ({ loss, epochs, calls }) => {
    const model = await modelDirectory(1)
    const data = rowsOf(loss)
    const settings = { model, data, validationData: data, loss, epochs, batchSize: 8 }
    const score = scored()
    await runPreference(jobOf(configOf(settings)))
    expect(score).toHaveBeenCalledTimes(calls)
  })

  test.each(['dpo', 'kto'] as const)(
    '%s: a resumed run does not ask again, and ends with the same bits',
    async loss => {
      const settings = {
        model: await modelDirectory(1),
        data: rowsOf(loss),
        loss,
        batchSize: 8,
        optimizer: { lr: 1e-3 },
      }
      const whole = configOf(settings)
      await runPreference(jobOf(whole))
      const config = configOf(settings)
      const stop = new AbortController()
      const stopped = stoppingReport(text => text.startsWith('preference 2/') && stop.abort())
      expect(await runPreference(jobOf(config, { report: stopped, signal: stop.signal }))).toMatchObject({ step: 2 })
      const score = scored()
      await runPreference(jobOf(config, { resume: true }))
      // kto scores responses under other prompts by the policy, once a step.
      expect(score).toHaveBeenCalledTimes(loss === 'kto' ? 4 : 0)
      const weights = (output: string) => readFileSync(join(output, 'final_model', 'model.safetensors'))
      expect(weights(config.output).equals(weights(whole.output))).toBe(true)
    },
  )

  test('is asked for the rows of further steps alone, as the policy started', async () => {
    const settings = { model: await modelDirectory(1), data: rowsOf('dpo'), batchSize: 8, optimizer: { lr: 1e-3 } }
    const kept = async (output: string) => {
      const lines = readFileSync(join(output, 'reference_logprobs.tsv'), 'utf8').trim().split('\n').slice(1)
      return new Map(lines.map(line => line.split('\t') as [string, string]))
    }
    const whole = configOf(settings)
    await runPreference(jobOf(whole))
    const config = configOf({ ...settings, maxSteps: 2 })
    await runPreference(jobOf(config))
    expect((await kept(config.output)).size).toBe(2 * 16)
    const score = scored()
    const more = { ...config, maxSteps: 3 }
    await runPreference(jobOf(more, { resume: true }))
    await runPreference(jobOf(more, { resume: true }))
    expect(score).toHaveBeenCalledTimes(1)
    const [found, expected] = [await kept(config.output), await kept(whole.output)]
    expect(found.size).toBe(2 * 24)
    for (const [key, value] of expected) expect(Number(found.get(key))).toBeCloseTo(Number(value), 3)
  })

  test.each([
    { what: 'the policy as it starts', rest: {} },
    { what: 'the policy without its new adapter', rest: { lora: { rank: 2, alpha: 4 } } },
  ])('$what gives no reward at the first step', async ({ rest }) => {
    const model = await modelDirectory(1)
    const config = configOf({ model, data: rowsOf('dpo'), maxSteps: 1, ...rest })
    const { metrics } = await runPreference(jobOf(config))
    expect(metrics['loss/train']).toBeCloseTo(Math.log(2), 5)
    expect(metrics['preference/margin']).toBeCloseTo(0, 4)
  })

  test('is asked again where the run is allowed to go on with another one', async () => {
    const reference = await modelDirectory(2)
    const settings = { model: await modelDirectory(1), reference, data: rowsOf('dpo'), batchSize: 8, maxSteps: 2 }
    const config = configOf(settings)
    await runPreference(jobOf(config))
    const file = join(reference, 'model.safetensors')
    flipBit(file, readFileSync(file).length - 40)
    const more = { ...config, maxSteps: 3 }
    await expect(runPreference(jobOf(more, { resume: true }))).rejects.toThrow(
      /reference model\.safetensors: was "[0-9a-f]{64}", is now "[0-9a-f]{64}"/,
    )
    const score = scored()
    await runPreference(jobOf(more, { resume: true, allowChange: ['reference'] }))
    expect(score).toHaveBeenCalled()
  })

  test('may be another model', async () => {
    const [model, reference] = [await modelDirectory(1), await modelDirectory(2)]
    const { metrics } = await runPreference(jobOf(configOf({ model, reference, data: rowsOf('dpo'), maxSteps: 1 })))
    expect(Math.abs(metrics['preference/chosen_reward']!)).toBeGreaterThan(0.01)
  })

  test('kept on the disk: the same numbers, or none where they were damaged', async () => {
    const model = await tinyModel('language')
    const response = (key: string, seed: number) => {
      const prompt = promptSequence({ ids: Int32Array.of(seed, 3), promptId: 'a', row: {} })
      return { key, where: 'rows.jsonl:1', sequence: withAnswer(prompt, Int32Array.of(4, 5)) }
    }
    const logprobs = new ReferenceLogprobs('a model', 'these')
    await logprobs.add([response('a', 1), response('b', 2), response('a', 9)], sequences => model.score(sequences))
    expect(logprobs.size).toBe(2)
    const path = fresh('reference')
    await logprobs.write(path)
    const read = await ReferenceLogprobs.read(path, 'a model')
    expect(read.covers).toBe('these')
    for (const key of ['a', 'b']) expect(read.get(key)).toBe(logprobs.get(key))
    expect(() => read.get('c')).toThrow('has not scored c')
    expect((await ReferenceLogprobs.read(path, 'another model')).size).toBe(0)
    const text = readFileSync(path, 'utf8')
    for (const damaged of [text.replace('these', 'those'), text.slice(0, -4), text.replace('b\t-', 'b\t'), '']) {
      writeFileSync(path, damaged)
      expect((await ReferenceLogprobs.read(path, 'a model')).size).toBe(0)
    }
  })
})

describe('kto compares a response with those under other prompts', () => {
  const row = (promptId: string, prompt: number[], response: number[]) => ({
    ...{ where: promptId, desirable: true },
    sequence: withAnswer(
      promptSequence({ ids: Int32Array.from(prompt), promptId, row: {} }),
      Int32Array.from(response),
    ),
  })
  const rows = [row('a', [1, 2], [3]), row('b', [1, 2], [4, 5]), row('c', [6], [7, 8, 9])]

  test('with the next row whose prompt is another', () => {
    expect(
      mismatchedResponses(rows, 10).map(({ key, sequence }) => ({
        key,
        ids: [...sequence.ids],
        from: firstTrained(sequence),
      })),
    ).toEqual([
      { key: 'a c', ids: [1, 2, 7, 8, 9], from: 2 },
      { key: 'b c', ids: [1, 2, 7, 8, 9], from: 2 },
      { key: 'c a', ids: [6, 3], from: 1 },
    ])
  })

  test('cut where it would be too long, left out where nothing fits or nothing differs', () => {
    expect(mismatchedResponses(rows, 3).map(({ sequence }) => [...sequence.ids])).toEqual([
      [1, 2, 7],
      [1, 2, 7],
      [6, 3],
    ])
    expect(mismatchedResponses(rows, 2).map(({ sequence }) => [...sequence.ids])).toEqual([[6, 3]])
    expect(mismatchedResponses(rows.slice(0, 2), 10)).toEqual([])
  })
})

test('options of one loss are refused for another', () => {
  const problem = (rest: object) =>
    preferenceSchema.safeParse({ model: 'm', data: 'd', output: 'o', ...rest }).error?.issues.map(({ path }) => path[0])
  expect(problem({ loss: 'dpo', labelSmoothing: 0.1 })).toBeUndefined()
  expect(problem({ loss: 'cdpo' })).toEqual(['labelSmoothing'])
  expect(problem({ loss: 'ipo', labelSmoothing: 0.1 })).toEqual(['labelSmoothing'])
  expect(problem({ loss: 'dpo', desirableWeight: 2 })).toEqual(['desirableWeight'])
  expect(problem({ loss: 'ipo', undesirableWeight: 2 })).toEqual(['undesirableWeight'])
  expect(problem({ loss: 'kto', batchSize: 1 })).toEqual(['batchSize'])
})
