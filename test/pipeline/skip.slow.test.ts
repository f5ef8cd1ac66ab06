/** What is done again, and what is not. */
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { PipelineOptions } from '../../src/pipeline/index.js'
import { type Report, silentReport } from '../../src/progress/index.js'
import { fresh, jsonl } from '../support/files.js'
import { conversations, filesOf, pipelineOf, prompts } from '../support/pipeline.js'

/** Two cheap stages are enough: rewards of one's own take the place of the reward model. */
function options(): Partial<PipelineOptions> {
  const module = `${fresh('reward')}.mjs`
  writeFileSync(module, 'export default ({ response }) => response.length\n')
  const rewards = `${fresh('rewards')}.json`
  writeFileSync(rewards, JSON.stringify({ sources: { length: { type: 'function', file: module } } }))
  return {
    saveDir: fresh('out'),
    sftDataPath: jsonl(conversations, 'conversations'),
    ppoDataPath: jsonl(prompts, 'prompts'),
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
  const elsewhere = { type: 'vllm', urls: ['http://127.0.0.1:9'] }
  expect(await outcomes({ ...given, ppo: { ...given.ppo, generator: elsewhere } })).toEqual(['skipped', 'skipped'])

  // A byte of the last stage's data runs that stage alone.
  appendFileSync(given.ppoDataPath as string, '\n')
  expect(await outcomes(given)).toEqual(['skipped', 'finished'])
  expect(filesOf(join(saveDir!, 'previous/grpo-1'))).toEqual(before)

  // A byte of the first stage's data runs it, and what depends on the weights it makes.
  const text = readFileSync(given.sftDataPath as string, 'utf8')
  writeFileSync(given.sftDataPath as string, text.replace('"1"', '"2"'))
  expect(await outcomes(given)).toEqual(['finished', 'finished'])
  expect(existsSync(join(saveDir!, 'previous/grpo-2'))).toBe(true)

  // So does another option, and a module of rewards that a description names.
  expect(await outcomes({ ...given, ppoLrPolicy: 2e-4 })).toEqual(['skipped', 'finished'])
  const { sources } = JSON.parse(readFileSync(given.ppo!.rewards as string, 'utf8'))
  writeFileSync(sources.length.file, 'export default ({ response }) => -response.length\n')
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

/** Of the rows that are not held out. */
const stepsOfAnEpoch = 2

/** Stops at the second line of progress. */
function stoppingReport(stop: AbortController): Report {
  let lines = 0
  // The first line says that nothing is done yet.
  const show = ({ at }: { at: string }) => {
    if (!at.includes(' 0/') && ++lines === 2) stop.abort()
  }
  return { ...silentReport, live: () => ({ show, doing() {}, end() {} }) }
}

test('a resume with another option is refused before work starts, and goes on with it where that is allowed', async () => {
  const given = { ...options(), sftEpochs: 4, logLevel: 'debug' as const }
  const directory = join(given.saveDir!, 'sft')
  const stop = new AbortController()
  const stopped = await pipelineOf(given, { report: stoppingReport(stop) })
  expect((await stopped.runSft({ signal: stop.signal })).outcome).toBe('stopped')
  const before = filesOf(directory)

  const changed = await pipelineOf({ ...given, sftEpochs: 5 })
  await expect(changed.runFullPipeline({ resume: true })).rejects.toMatchObject({
    message: `${directory}: options or inputs of this stage have changed since it started:\n  sftEpochs: was 4, is now 5`,
    remedy: expect.stringContaining('--resume --allow-change sftEpochs'),
  })
  expect(filesOf(directory)).toEqual(before)
  await expect(changed.runSft({ allowChange: ['sftEpochs'] })).rejects.toThrow('allowChange: needs resume')
  await expect(changed.runSft({ resume: true, allowChange: ['sftEpoch'] })).rejects.toThrow('did you mean sftEpochs?')

  // Where and how fast is never a reason to stop.
  const went = await pipelineOf({ ...given, sftEpochs: 5, sft: { tokenBudget: 128 } })
  const { outcome, step } = await went.runSft({ resume: true, allowChange: ['sftEpochs'] })
  expect([outcome, step]).toEqual(['finished', 5 * stepsOfAnEpoch])
  // A finished one goes on too, and is otherwise begun again.
  const longer = await pipelineOf({ ...given, sftEpochs: 6 })
  expect(await longer.runSft({ resume: true, allowChange: ['sftEpochs'] })).toMatchObject({ step: 6 * stepsOfAnEpoch })
  expect(existsSync(join(given.saveDir!, 'previous'))).toBe(false)
  expect((await longer.runSft()).outcome).toBe('skipped')
  const log = readFileSync(join(given.saveDir!, 'logs/pipeline.log'), 'utf8')
  expect(log).toMatch(/ DEBUG sft: options \{.*"epochs":5/)
  expect(log).toContain('WARNING sft: resumes with a changed sftEpochs')
})

test('a stopped stage is an error without resume, and goes on with it', async () => {
  const given = { ...options(), sftEpochs: 4 }
  const stop = new AbortController()
  const report = stoppingReport(stop)
  const stopped = await (await pipelineOf(given, { report })).runFullPipeline({ signal: stop.signal })
  expect(stopped).toMatchObject({ outcome: 'stopped', stages: [{ stage: 'sft', outcome: 'stopped' }] })
  const again = await pipelineOf(given)
  await expect(again.runFullPipeline()).rejects.toThrow(
    `${join(given.saveDir!, 'sft')}: this stage was started and not finished`,
  )
  expect(readFileSync(join(given.saveDir!, 'logs/pipeline.log'), 'utf8')).toMatch(/ ERROR sft: .*not finished/)
  // As if it had been killed before there were samples.
  const samples = join(given.saveDir!, 'samples/base.jsonl')
  rmSync(samples)
  const whole = await pipelineOf({ ...given, saveDir: fresh('whole') })
  expect(await again.runSft({ resume: true })).toMatchObject({ outcome: 'finished' })
  expect(existsSync(samples)).toBe(true)
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

test('a stage whose rewards all fail is not finished: mended, it is resumed with the samples it had', async () => {
  const given = options()
  const broken = fresh('broken')
  const module = `${fresh('reward')}.mjs`
  writeFileSync(
    module,
    `import { existsSync } from 'node:fs'
export default ({ response, promptId }) => {
  if (!promptId.startsWith('held out') && existsSync(${JSON.stringify(broken)})) throw new Error('no reward today')
  return response.length
}
`,
  )
  const pipeline = await pipelineOf({ ...given, ppo: { ...given.ppo, rewards: module } })
  writeFileSync(broken, '')
  await expect(pipeline.runFullPipeline()).rejects.toThrow(/no sample has a reward.*no reward today/)
  const record = (): { status: string } => JSON.parse(readFileSync(join(given.saveDir!, 'grpo', 'stage.json'), 'utf8'))
  expect(record().status).toBe('started')
  rmSync(broken)
  const { stages } = await pipeline.runFullPipeline({ resume: true })
  expect(stages.map(({ outcome }) => outcome)).toEqual(['skipped', 'finished'])
  expect(stages[1]!.metrics['samples/reused']).toBeGreaterThan(0)
  expect(record().status).toBe('finished')
})
