/** Known defects of the Python pipeline that no other test covers. */
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { dataOptionsSchema, openDataset } from '../../src/data/index.js'
import { Run } from '../../src/run/index.js'
import { optimizerSchema, stepRates } from '../../src/train/config/common.js'
import { fresh, jsonl } from '../support/files.js'
import { pipelineOf } from '../support/pipeline.js'
import { tokenizer } from '../support/tokenizers.js'

const options = { ...dataOptionsSchema.parse({}), seed: 0, baseDirectory: '.' }

test('rows of {"conversations": [...]} are conversations, in roles and in ShareGPT words, with the answer trained', async () => {
  const turns = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'hello' },
  ]
  const file = jsonl(
    [
      { conversations: turns },
      { messages: turns },
      {
        conversations: turns.map(({ role, content }) => ({ from: role === 'user' ? 'human' : 'gpt', value: content })),
      },
    ],
    'rows',
  )
  const dataset = await openDataset('conversations', file, options)
  const examples = await dataset.train(tokenizer).take(3)
  await dataset.close()
  const trained = await Promise.all(
    examples.map(({ sequence: { ids, trained } }) =>
      tokenizer.decode(
        ids.filter((_, i) => trained[i] === 1),
        { skipSpecialTokens: true },
      ),
    ),
  )
  expect(trained.map(text => text.trim())).toEqual(['hello', 'hello', 'hello'])
})

test('preferences without a prompt, blank and broken lines are named with their lines, or left out and counted', async () => {
  const file = `${fresh('pairs')}.jsonl`
  const pair = '{"prompt":"a","chosen":"b","rejected":"c"}'
  writeFileSync(file, `${pair}\n{"chosen":"b","rejected":"c","prompt":3}\n{"prompt":"a"}\n\n{"prompt"\n`)
  await expect(openDataset('preferences', file, options)).rejects.toThrow(/:2/)
  const skipped: string[] = []
  const lenient = { ...options, maxBadRows: 5, onSkipped: ({ where }: { where: string }) => skipped.push(where) }
  const dataset = await openDataset('preferences', file, lenient)
  expect(dataset.report.train).toBe(1)
  expect(skipped.map(where => where.slice(-2))).toEqual([':2', ':3', ':4', ':5'])
  await dataset.close()
})

test('a warm-up is a line from the base rate, whatever the step before had', () => {
  const rates = stepRates(optimizerSchema(1e-3).parse({ warmupSteps: 100 }), 1000)
  for (const step of [1, 2, 10, 50, 100]) expect(rates(step - 1).lr).toBeCloseTo((1e-3 * step) / 100, 12)
  expect(rates(500).lr).toBe(1e-3)
})

test('a run of PPO logs reward, length and KL to the reference, rolls out a batch of prompts, and logs the rate it used', async () => {
  const pipeline = await pipelineOf({ ppoLrPolicy: 2e-4, sftLr: 3e-3, ppo: { maxNewTokens: 3 } })
  const { stages } = await pipeline.runFullPipeline()
  const [sft, reward, ppo] = await Promise.all(stages.map(({ directory }) => Run.read(directory)))
  expect(sft!.metrics.get('lr')![0]!.value).toBe(3e-3)
  for (const name of ['reward/mean', 'length/mean', 'kl/mean', 'kl/coef', 'entropy/mean', 'value/loss', 'grad/norm'])
    expect(ppo!.metrics.get(name)?.length, name).toBe(2)
  expect(ppo!.metrics.get('kl/coef')![0]!.value).toBe(0.01)
  expect(Math.max(...ppo!.metrics.get('length/max')!.map(({ value }) => value))).toBeLessThanOrEqual(3)
  expect(ppo!.metrics.get('lr')![0]!.value).toBe(2e-4)
  expect(reward!.metrics.get('validation/accuracy')!.length).toBeGreaterThan(0)
  const { journal } = ppo!
  const outcomes = (await journal.read(0)).filter(({ record }) => record.kind === 'outcome')
  expect(outcomes.length).toBe(pipeline.config.ppoBatchSize)
  // A process that knows nothing of this one goes on from the files.
  const later = await pipelineOf({ saveDir: fresh('later'), ppoIterations: 1 })
  const [, , { model }] = stages as [unknown, { model: string }, { model: string }]
  const again = await later.runPpoTraining({ sftModel: model, rewardModel: stages[1]!.model })
  expect(again.outcome).toBe('finished')
})
