import { cpSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ActAnswer, ActsAnswer, RescoreAnswer, SamplesAnswer } from '../../src/dashboard/api.js'
import { replayRl } from '../../src/train/index.js'
import { AskedDashboard } from '../support/dashboard.js'
import { jsonLines, temporaryDirectory, written } from '../support/files.js'
import { finalWeights, metricLines, smallRun, start } from '../support/rl.js'

const runs = temporaryDirectory()
const acted = join(runs, 'acted')
let asked: AskedDashboard
let options: Readonly<Record<string, unknown>>

beforeAll(async () => {
  options = await smallRun({ seed: 5, prompts: 6 }, { iterations: 8, klController: { kind: 'fixed', coef: 0.05 } })
  asked = await AskedDashboard.over(runs)
})
afterAll(() => asked.close())

const acts = (): Promise<ActsAnswer> => asked.get('/api/runs/acted/acts')
const act = (request: unknown): Promise<ActAnswer> => asked.posted('/api/runs/acted/acts', request)
async function until(holds: (found: ActsAnswer) => boolean): Promise<ActsAnswer> {
  for (;;) {
    const found = existsSync(join(acted, 'config.json')) ? await acts() : undefined
    if (found && holds(found)) return found
    await wait(20)
  }
}

test('a run is paused, changed, asked, saved and stopped; a resumed run and a replay do the same', async () => {
  const training = start({ ...options, output: acted })
  await until(({ listening }) => listening)
  expect(statSync(join(acted, 'control.sock')).mode & 0o777).toBe(0o600)
  await act({ act: 'pause' })
  await until(({ state }) => state === 'paused')
  // A value that the schema refuses changes nothing.
  const wrong = await asked.post('/api/runs/acted/acts', { act: 'set', option: 'optimizer.lr', value: -1 })
  expect(wrong).toMatchObject({ status: 400, text: expect.stringContaining('optimizer.lr') })
  const { from } = await act({ act: 'set', option: 'optimizer.lr', value: 5e-4 })
  await act({ act: 'set', option: 'temperature', value: 0.7 })
  await act({ act: 'set', option: 'klController.coef', value: 0.2 })
  await asked.indexed('acted', 8)
  const { rows } = await asked.get<SamplesAnswer>('/api/runs/acted/samples')
  await act({ act: 'drop-prompt', promptId: rows[0]!.promptId })
  await act({ act: 'checkpoint' })
  const chat = await asked.post('/api/runs/acted/chat', {
    model: 'policy',
    messages: [{ role: 'user', content: 'Question 1:' }],
    temperature: 1,
    maxNewTokens: 4,
  })
  expect(JSON.parse(chat.text.trim().split('\n').at(-1)!)).toMatchObject({ finish: expect.any(String) })
  await act({ act: 'resume' })
  await act({ act: 'stop' })
  expect(await training).toMatchObject({ outcome: 'stopped' })
  expect(existsSync(join(acted, 'control.sock'))).toBe(false)
  // Nobody trains it now.
  expect(await asked.post('/api/runs/acted/acts', { act: 'pause' })).toMatchObject({ status: 409 })

  expect(await start({ ...options, output: acted }, { resume: true })).toMatchObject({ outcome: 'finished' })
  const lines = metricLines(acted).filter(({ values }) => values.lr !== undefined)
  expect(lines.filter(({ step }) => step > from).map(({ values }) => values.lr)).toEqual(Array(8 - from).fill(5e-4))
  expect(lines.at(-1)!.values['kl/coef']).toBe(0.2)
  const dropped = rows[0]!.promptId.replace(/\/\d+$/, '')
  await asked.indexed('acted', 64)
  const later = await asked.get<SamplesAnswer>(`/api/runs/acted/samples?where=iteration%3E%3D${from}&limit=500`)
  expect(later.rows).toHaveLength(8 * (8 - from))
  expect(later.rows.some(({ promptId }) => promptId.startsWith(dropped))).toBe(false)
  expect(await replayRl(acted)).toMatchObject({ iterations: 8, mismatches: [], notCompared: [] })

  // The same acts in a run that nobody watches: bit for bit the same weights.
  const alone = join(runs, 'alone')
  await start({ ...options, output: alone }, { stopAt: 'generating' })
  mkdirSync(join(alone, 'journal'), { recursive: true })
  cpSync(join(acted, 'journal/acts.jsonl'), join(alone, 'journal/acts.jsonl'))
  await start({ ...options, output: alone }, { resume: true })
  expect(finalWeights(alone).equals(finalWeights(acted))).toBe(true)
})

test('a sample that is dropped before its iteration has a batch takes its group with it', async () => {
  const [plain, dropped] = [join(runs, 'plain'), join(runs, 'dropped')]
  const iteration = 19
  const longer = { ...options, iterations: iteration + 1 }
  const path = (run: string): string => `/api/runs/${run}/samples?where=iteration%3D${iteration}`
  await start({ ...longer, output: plain })
  await asked.indexed('plain', 8 * (iteration + 1))
  const before = (await asked.get<SamplesAnswer>(path('plain'))).rows
  const { promptId } = before[0]!
  const training = start({ ...longer, output: dropped })
  const isListening = async () => (await asked.ask('/api/runs/dropped/acts', { headers: asked.token })).text
  while (!(await isListening()).includes('"listening":true')) await wait(20)
  const act = (request: unknown) => asked.posted<ActAnswer>('/api/runs/dropped/acts', request)
  await act({ act: 'pause' })
  expect(await act({ act: 'drop-sample', promptId, sample: 1, iteration })).toMatchObject({ from: iteration })
  await act({ act: 'resume' })
  expect(await training).toMatchObject({ outcome: 'finished' })
  const late = await asked.post('/api/runs/dropped/acts', { act: 'drop-sample', promptId, sample: 1, iteration })
  expect(late.status).toBe(409)
  await asked.indexed('dropped', 8 * (iteration + 1))
  const { rows } = await asked.get<SamplesAnswer>(path('dropped'))
  expect(rows.map(one => `${one.promptId} ${one.sample}`).sort()).toEqual(
    before.map(one => `${one.promptId} ${one.sample}`).sort(),
  )
  for (const row of rows)
    expect([row.dropped, row.trained]).toEqual(row.promptId === promptId ? ['dropped-by-hand', false] : [null, true])
  expect(await replayRl(dropped)).toMatchObject({ iterations: iteration + 1, mismatches: [], notCompared: [] })
})

test('samples are scored again with a file of the config or of the command, and with no other', async () => {
  const path = '/api/runs/acted/rescore'
  const own = String(options.rewards)
  const answer = await asked.posted<RescoreAnswer>(path, { rewards: own, where: 'iteration<2' })
  expect(answer).toMatchObject({ matched: 16, changed: 0, otherBest: 0 })
  const other = written('other.mjs', 'export default () => 1\n')
  expect(await asked.post(path, { rewards: other })).toMatchObject({ status: 403 })
  expect(jsonLines(join(acted, 'logs/metrics.jsonl')).length).toBeGreaterThan(0)
})
