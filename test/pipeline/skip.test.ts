/** What is done again, and what is not. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { PipelineOptions } from '../../src/pipeline/index.js'
import { conversations, filesOf, fresh, jsonl, pipelineOf, prompts } from './world.js'

/** Two cheap stages are enough: rewards of one's own take the place of the reward model. */
function options(): Partial<PipelineOptions> {
  const rewards = `${fresh('reward')}.mjs`
  writeFileSync(rewards, 'export default ({ response }) => response.length\n')
  return {
    saveDir: fresh('out'),
    sftDataPath: jsonl('conversations', conversations),
    ppoDataPath: jsonl('prompts', prompts),
    algorithm: 'grpo',
    ppoIterations: 1,
    ppo: { rewards, nSamplesPerPrompt: 2 },
  }
}

const outcomes = async (given: Partial<PipelineOptions>) =>
  (await (await pipelineOf(given)).runFullPipeline()).stages.map(({ outcome }) => outcome)

test('a stage is skipped where its output is there and its inputs are the same; one changed data byte runs it again', async () => {
  const given = options()
  const { saveDir } = given
  expect(await outcomes(given)).toEqual(['finished', 'finished'])
  const before = filesOf(join(saveDir!, 'grpo'))
  expect(await outcomes(given)).toEqual(['skipped', 'skipped'])
  expect(filesOf(join(saveDir!, 'grpo'))).toEqual(before)
  // Where and how often is no reason to do it again.
  expect(await outcomes({ ...given, saveInterval: 7, device: 'auto', logLevel: 'error' })).toEqual([
    'skipped',
    'skipped',
  ])

  // A byte of the last stage's data runs that stage alone.
  appendFileSync(given.ppoDataPath as string, '\n')
  expect(await outcomes(given)).toEqual(['skipped', 'finished'])
  expect(filesOf(join(saveDir!, 'previous/grpo-1'))).toEqual(before)

  // A byte of the first stage's data runs it, and what depends on the weights it makes.
  const text = readFileSync(given.sftDataPath as string, 'utf8')
  writeFileSync(given.sftDataPath as string, text.replace('"1"', '"2"'))
  expect(await outcomes(given)).toEqual(['finished', 'finished'])
  expect(existsSync(join(saveDir!, 'previous/grpo-2'))).toBe(true)

  // So does another option, and the file of rewards.
  expect(await outcomes({ ...given, ppoLrPolicy: 2e-4 })).toEqual(['skipped', 'finished'])
  writeFileSync(given.ppo!.rewards as string, 'export default ({ response }) => -response.length\n')
  expect(await outcomes({ ...given, ppoLrPolicy: 2e-4 })).toEqual(['skipped', 'finished'])
})

test('a model that was changed since is not taken for what its stage made', async () => {
  const given = options()
  const pipeline = await pipelineOf(given)
  const { model } = await pipeline.runSft()
  appendFileSync(join(model, 'config.json'), ' ')
  expect((await pipeline.runSft()).outcome).toBe('finished')
  expect((await pipeline.runSft()).outcome).toBe('skipped')
})

test('a stopped stage is an error without resume, and goes on with it', async () => {
  const given = { ...options(), sftEpochs: 4 }
  const stop = new AbortController()
  let lines = 0
  const report = {
    line() {},
    transfer: () => ({ at() {}, end() {} }),
    live: () => ({
      show() {
        if (++lines === 2) stop.abort()
      },
      doing() {},
      end() {},
    }),
  }
  const stopped = await (await pipelineOf(given, { report })).runFullPipeline({ signal: stop.signal })
  expect(stopped).toMatchObject({ outcome: 'stopped', stages: [{ stage: 'sft', outcome: 'stopped' }] })
  const again = await pipelineOf(given)
  await expect(again.runFullPipeline()).rejects.toThrow(
    `${join(given.saveDir!, 'sft')}: this stage was begun and not finished`,
  )
  const whole = await pipelineOf({ ...given, saveDir: fresh('whole') })
  expect(await again.runSft({ resume: true })).toMatchObject({ outcome: 'finished' })
  const { model } = await whole.runSft()
  expect(filesOf(join(given.saveDir!, 'sft/best_model'))).toEqual(filesOf(model))
})

test('two processes do not work in one directory', async () => {
  const given = options()
  const pipeline = await pipelineOf(given)
  // Which of the two comes first is not said.
  const outcomes = await Promise.allSettled([pipeline.runSft(), pipeline.runSft()])
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { message: expect.stringMatching(/lock: process/) },
  })
})
