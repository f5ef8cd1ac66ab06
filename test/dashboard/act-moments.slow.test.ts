/** Acts where it is hard: while iterations are made again after a crash, two at once, while the engine sleeps, on rows with a weight. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { askRun, Run } from '../../src/run/index.js'
import { replayRl } from '../../src/train/index.js'
import { temporaryDirectory } from '../support/files.js'
import { finalWeights, metricLines, smallRun, start } from '../support/rl.js'

type Line = Readonly<Record<string, unknown>>

const runs = temporaryDirectory()
let options: Readonly<Record<string, unknown>>

beforeAll(async () => {
  const klController = { kind: 'fixed', coef: 0.05 }
  options = await smallRun({ seed: 5, prompts: 6 }, { iterations: 12, klController, useKlLoss: false })
})

async function ask(run: string, request: unknown): Promise<Line> {
  for await (const line of askRun(run, request)) return line
  throw new Error('the run ended before it answered')
}
const set = (option: string, value: number) => ({ act: 'set', option, value })

async function listening(run: string): Promise<void> {
  while (!existsSync(join(run, 'control.sock'))) await wait(1)
}

async function paused(run: string): Promise<void> {
  await listening(run)
  await ask(run, { act: 'pause' })
  while ((await ask(run, { ask: 'state' })).state !== 'paused') await wait(5)
}

const coefs = (run: string): (number | undefined)[] =>
  metricLines(run).flatMap(({ values }) => ('reward/mean' in values ? [values['kl/coef']] : []))

test('a run that makes iterations again after a crash makes them as they were; acts count after them', async () => {
  const output = join(runs, 'crashed')
  await start({ ...options, output })
  // As after a crash before the first checkpoint: samples and batches of all iterations are in the journal.
  rmSync(join(output, 'checkpoints'), { recursive: true })
  const training = start({ ...options, output, iterations: 16 }, { resume: true })
  await listening(output)
  const [first, ...others] = await Promise.all([
    ask(output, set('klController.coef', 0.2)),
    ask(output, set('temperature', 0.6)),
    ask(output, { act: 'drop-sample', promptId: 'any/0', sample: 0, iteration: 11 }),
  ])
  expect(first).toEqual({ message: 'klController.coef is 0.2 from iteration 12 on', from: 12 })
  expect(others).toEqual([
    { message: 'temperature is 0.6 from iteration 12 on', from: 12 },
    { error: expect.stringContaining('iteration 11 has its batch already') },
  ])
  expect(await training).toMatchObject({ outcome: 'finished' })
  expect(coefs(output)).toEqual([...Array(12).fill(0.05), ...Array(4).fill(0.2)])
  expect(await replayRl(output)).toMatchObject({ iterations: 16, mismatches: [], notCompared: [] })
})

test('a KL coefficient is set to 0 and raised again; a stop that comes with a resume holds', async () => {
  const output = join(runs, 'without-kl')
  const training = start({ ...options, output })
  await paused(output)
  const { from } = (await ask(output, set('klController.coef', 0))) as { from: number }
  await ask(output, { act: 'resume' })
  while (Number((await ask(output, { ask: 'state' })).iteration) < from + 2) await wait(1)
  const raised = (await ask(output, set('klController.coef', 0.3))) as { from: number }
  await paused(output)
  const [stop, resume] = await Promise.all([ask(output, { act: 'stop' }), ask(output, { act: 'resume' })])
  expect(stop).toHaveProperty('from')
  expect(resume).toEqual({ error: 'the run is stopping already' })
  expect(await training).toMatchObject({ outcome: 'stopped' })
  await start({ ...options, output }, { resume: true })
  const expected = Array.from({ length: 12 }, (_, i) => (i < from ? 0.05 : i < raised.from ? 0 : 0.3))
  expect(coefs(output)).toEqual(expected)
  expect(await replayRl(output)).toMatchObject({ iterations: 12, mismatches: [], notCompared: [] })
})

test('a policy whose engine sleeps between iterations answers a chat, and trains as without it', async () => {
  const sleeping = { ...options, iterations: 4, enableEngineSleep: true }
  const [alone, asked] = [join(runs, 'alone'), join(runs, 'asked')]
  await start({ ...sleeping, output: alone })
  const training = start({ ...sleeping, output: asked })
  await paused(asked)
  const lines: Line[] = []
  const messages = [{ role: 'user', content: 'Question 1:' }]
  for await (const line of askRun(asked, { ask: 'chat', messages, temperature: 1, maxNewTokens: 4 })) lines.push(line)
  expect(lines.at(-1)).toMatchObject({ finish: expect.any(String) })
  await ask(asked, { act: 'resume' })
  expect(await training).toMatchObject({ outcome: 'finished' })
  expect(finalWeights(asked).equals(finalWeights(alone))).toBe(true)
})

test('a row that an epoch visits more than once is dropped with all its visits, and one row stays', async () => {
  const output = join(runs, 'weighted')
  const rows = await smallRun({ seed: 5, prompts: 3 })
  const data = [{ path: String(rows.data), weight: 2 }]
  const training = start({ ...options, data, output })
  await paused(output)
  const view = await Run.read(output)
  const found = new Set<string>()
  for (const iteration of await view.journal.iterations())
    for (const { record } of await view.journal.read(iteration))
      if (record.kind === 'prompt') found.add(String(record.promptId))
  const promptId = [...found][0]!
  const { from } = (await ask(output, { act: 'drop-prompt', promptId })) as { from: number }
  const row = promptId.replace(/[+/].*$/, '')
  expect(await ask(output, { act: 'drop-prompt', promptId: `${row}+1/0` })).toEqual({
    error: `prompt ${row} is dropped already`,
  })
  await ask(output, { act: 'drop-prompt', promptId: 'another/0' })
  expect(await ask(output, { act: 'drop-prompt', promptId: 'a-third/0' })).toEqual({
    error: 'the run would have no prompt left',
  })
  await ask(output, { act: 'resume' })
  await training
  const drawn: string[] = []
  for (let iteration = from; iteration < 12; iteration++)
    for (const { record } of await view.journal.read(iteration))
      if (record.kind === 'prompt') drawn.push(String(record.promptId))
  expect(drawn).toHaveLength(2 * (12 - from))
  expect(drawn.filter(id => id.startsWith(row))).toEqual([])
})
