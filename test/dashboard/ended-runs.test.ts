/** Runs that no process trains: what the page shows of them comes from their files, and acts on them are refused in words. */
import { appendFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ActsAnswer, RunDetail, RunsAnswer } from '../../src/dashboard/api.js'
import { ActLog, ControlSocket, Run } from '../../src/run/index.js'
import { startChild } from '../support/child.js'
import { compiledRoom } from '../support/compiled.js'
import { AskedDashboard } from '../support/dashboard.js'
import { temporaryDirectory } from '../support/files.js'
import { identity } from '../support/run.js'

const runs = temporaryDirectory()
let asked: AskedDashboard

beforeAll(async () => {
  asked = await AskedDashboard.over(runs)
})
afterAll(() => asked.close())

const acts = (run: string): string => `/api/runs/${encodeURIComponent(run)}/acts`

/** An answer of the server that is an error, in words. */
async function refused(run: string, request: unknown): Promise<{ status: number; error: string }> {
  const { status, text } = await asked.post(acts(run), request)
  return { status, error: (JSON.parse(text) as { error: string }).error }
}

/** A run that ended like this, a moment after the server had seen it run. */
async function ended(how: 'finished' | 'stopped'): Promise<string> {
  const directory = join(runs, how)
  const run = await Run.create(directory, identity({ algorithm: 'grpo', iterations: 1 }, { command: 'rl' }))
  expect(await refused(how, { act: 'pause' })).toEqual({
    status: 409,
    error: 'the run is starting, or its process does not listen; this run is read only',
  })
  await run.close(how)
  return directory
}

test('a run that was killed is shown as crashed and resumable, from its files alone', async () => {
  const directory = join(runs, 'killed')
  const script = new URL('../run/children/hammer-run.mjs', import.meta.url)
  const child = startChild(script, [compiledRoom('run'), directory])
  await child.waitFor(/checkpoint 3\n/)
  expect((await asked.get<RunDetail>('/api/runs/killed')).status).toBe('running')
  await child.kill()
  const reason = 'the run is not training (crashed); resume it to act on it'
  expect(await refused('killed', { act: 'pause' })).toEqual({ status: 409, error: reason })
  expect(existsSync(join(directory, 'lock'))).toBe(true)
  // The end of a line that was being written when the process died.
  appendFileSync(join(directory, 'logs/metrics.jsonl'), '{"step":99,"loss/tr')

  // A server that starts now knows nothing but the files.
  const later = await AskedDashboard.over(runs)
  try {
    const found = (await later.get<RunsAnswer>('/api/runs')).runs.find(({ name }) => name === 'killed')!
    expect(found).toMatchObject({ status: 'crashed', resumable: true, listening: false })
    expect(found.step).toBeGreaterThanOrEqual(3)
    expect(found.step).toBeLessThan(99)
    expect((await later.get<RunDetail>('/api/runs/killed')).checkpoints.length).toBeGreaterThan(0)
    expect(await later.get<ActsAnswer>(acts('killed'))).toMatchObject({ listening: false, reason })
  } finally {
    await later.close()
  }
  // The lock of a dead process does not stand in the way.
  const run = await Run.resume(directory, identity({}, { command: 'rl', versions: {} }))
  await run.close('stopped')
})

test('an act on a run that has finished is refused, and changes none of its files', async () => {
  const directory = await ended('finished')
  const requests = [
    ...[{ act: 'pause' }, { act: 'resume' }, { act: 'stop' }, { act: 'checkpoint' }],
    { act: 'set', option: 'temperature', value: 0.5 },
    { act: 'drop-prompt', promptId: 'a/0' },
    { act: 'drop-sample', promptId: 'a/0', sample: 0, iteration: 0 },
  ]
  for (const request of requests)
    expect(await refused('finished', request), request.act).toEqual({
      status: 409,
      error: 'the run has finished: nothing can be done to it',
    })
  expect(existsSync(join(directory, 'journal/acts.jsonl'))).toBe(false)
  const messages = [{ role: 'user', content: 'Hello' }]
  const chat = await asked.post('/api/runs/finished/chat', { model: 'policy', messages, temperature: 1 })
  expect(chat).toMatchObject({ status: 409, text: expect.stringContaining('the run has finished') })
})

test('prompts that were dropped are told when the run is over, under the names of their rows', async () => {
  const directory = join(runs, 'dropping')
  const run = await Run.create(directory, identity({ algorithm: 'grpo', iterations: 9 }, { command: 'rl' }))
  const log = await ActLog.open(directory)
  const drops = ['a/0', 'b+2/1', 'c/0/spare.1'].map(promptId => ({ act: 'drop-prompt', promptId }))
  for (const act of [...drops, { act: 'restore-prompt', promptId: 'a/3' }])
    await log.add({ time: '2026-01-01T00:00:00.000Z', from: 4, act })
  await log.close()
  await run.close('finished')
  expect((await asked.get<ActsAnswer>(acts('dropping'))).droppedPrompts).toEqual(['b', 'c'])
})

test('a run that ends before it has answered says so, for an act and for a chat', async () => {
  const directory = join(runs, 'ending')
  const run = await Run.create(directory, identity({ algorithm: 'grpo', iterations: 1 }, { command: 'rl' }))
  // The first one hears nothing, the second one the beginning.
  let heard = 0
  const socket = await ControlSocket.listen(directory, async (request, send) => {
    if ((request as { ask?: string }).ask === 'chat' && heard++ > 0) send({ text: 'The answer is' })
  })
  expect(await refused('ending', { act: 'pause' })).toEqual({ status: 409, error: 'the run ended before it answered' })
  const messages = [{ role: 'user', content: 'Hello' }]
  const chat = async () =>
    (await asked.post('/api/runs/ending/chat', { model: 'policy', messages, temperature: 1 })).text.trim().split('\n')
  const error = JSON.stringify({ error: 'the model ended before its answer did' })
  expect(await chat()).toEqual([error])
  expect(await chat()).toEqual([JSON.stringify({ text: 'The answer is' }), error])
  await socket?.close()
  await run.close('stopped')
})

test('each act has its own words, also one of which the events tell nothing', async () => {
  const directory = join(runs, 'acted')
  const run = await Run.create(directory, identity({ algorithm: 'grpo', iterations: 9 }, { command: 'rl' }))
  const log = await ActLog.open(directory)
  const time = '2026-01-01T00:00:00.000Z'
  const lr = { act: 'set', option: 'optimizer.lr', value: 0.5 }
  const temperature = { act: 'set', option: 'temperature', value: 0.25 }
  // Three at the same moment, and the event of the last one is gone with the log after a checkpoint.
  for (const act of [lr, temperature, { act: 'drop-prompt', promptId: 'a/0' }]) await log.add({ time, from: 4, act })
  for (const [text, act] of [
    ['temperature is 0.25 from iteration 4 on', temperature],
    ['optimizer.lr is 0.5 from iteration 4 on', lr],
  ] as const)
    run.event('act', { text, from: 4, ...act })
  await log.close()
  await run.close('stopped')
  const { acts: found, settings } = await asked.get<ActsAnswer>(acts('acted'))
  expect(settings.find(({ option }) => option === 'optimizer.lr')?.value).toBe(0.5)
  expect(found.map(({ text }) => text)).toEqual([
    'optimizer.lr is 0.5 from iteration 4 on',
    'temperature is 0.25 from iteration 4 on',
    'drop-prompt a/0',
  ])
})

test('an act on a run that is not there, or was deleted meanwhile, is refused', async () => {
  for (const name of ['none', '../finished', 'finished/../finished'])
    expect(await refused(name, { act: 'pause' })).toEqual({
      status: 404,
      error: `there is no run ${JSON.stringify(name)}`,
    })
  const directory = await ended('stopped')
  expect((await asked.get<ActsAnswer>(acts('stopped'))).reason).toMatch('not training (stopped)')
  rmSync(directory, { recursive: true })
  expect(await refused('stopped', { act: 'pause' })).toEqual({ status: 404, error: 'there is no run "stopped"' })
})
