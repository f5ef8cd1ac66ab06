import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Run } from '../../src/run/index.js'
import { type Compiled, compile } from '../tensor/compiled.js'
import { smallRun } from './children/small-run.mjs'
import { runCrashing } from './crashing.js'
import { jsonLines, temporaryDirectory } from './world.js'

let room: Compiled
beforeAll(() => {
  room = compile('run')
}, 60_000)
afterAll(() => room.remove())

const script = fileURLToPath(new URL('./children/small-run.mjs', import.meta.url))
const train = (directory: string, env: Record<string, string> = {}) =>
  runCrashing(script, [room.index, directory], { CRASH_UNDER: directory, ...env })

/** What a finished run must be, however often it was interrupted. */
async function expectFinished(directory: string, label: string): Promise<void> {
  const steps = jsonLines(join(directory, 'logs/metrics.jsonl')).map(({ step }) => step)
  expect(steps, label).toEqual([1, 2, 3, 4])
  expect(readdirSync(join(directory, 'checkpoints')), label).toEqual(['000004'])
  const { status, journal } = await Run.read(directory)
  expect(status, label).toBe('finished')
  for (const iteration of await journal.iterations())
    expect((await journal.read(iteration)).map(({ record }) => record.sample).sort(), label).toEqual([0, 1])
  expect(existsSync(join(directory, 'lock')), label).toBe(false)
}

test('killed at every write, rename, fsync, step and append, then resumed: the same weights and the same logs', async () => {
  const parent = temporaryDirectory()
  const whole = join(parent, 'whole')
  mkdirSync(whole)
  const files = { CRASH_COUNT: join(parent, 'count'), CRASH_LOG: join(parent, 'log') }
  const uninterrupted = await train(whole, files)
  expect(uninterrupted).toMatchObject({ code: 0, output: expect.stringMatching(/^\d+\n$/) })
  const weights = Number(uninterrupted.output)
  await expectFinished(whole, 'uninterrupted')
  const count = Number(readFileSync(files.CRASH_COUNT, 'utf8'))
  const reached = readFileSync(files.CRASH_LOG, 'utf8')
  for (const kind of ['write', 'write, half', 'rename', 'link', 'fsync', 'fdatasync', 'rm', 'step'])
    expect(reached, kind).toMatch(new RegExp(`^\\d+ ${kind} `, 'm'))

  let next = 1
  let kills = 0
  const worker = async () => {
    while (next <= count) {
      const at = next++
      const directory = join(parent, String(at))
      mkdirSync(directory)
      const killed = await train(directory, { CRASH_AT: String(at) })
      // How appends are grouped depends on timing: the last few points may not be reached.
      if (killed.signal === 'SIGKILL') kills++
      else expect(killed, `point ${at}`).toMatchObject({ code: 0 })
      expect(await smallRun(Run, directory), `point ${at}`).toBe(weights)
      await expectFinished(directory, `point ${at}`)
    }
  }
  await Promise.all([worker(), worker()])
  console.log(`killed at ${kills} of ${count} points`)
  expect(count).toBeGreaterThan(80)
  expect(kills).toBeGreaterThan(count - 10)
}, 300_000)

test('killed again and again on the way, a run still comes to the same end', async () => {
  const parent = temporaryDirectory()
  const weights = await smallRun(Run, join(parent, 'whole'))
  const directory = join(parent, 'run')
  let kills = 0
  for (const at of [7, 31, 47, 20, 40, 55, 30, 33])
    if ((await train(directory, { CRASH_AT: String(at) })).signal === 'SIGKILL') kills++
  expect(kills).toBeGreaterThan(3)
  expect(await smallRun(Run, directory)).toBe(weights)
  await expectFinished(directory, 'after all')
}, 60_000)
