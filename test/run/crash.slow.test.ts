import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Run } from '../../src/run/index.js'
import { runCrashing, startChild } from '../support/child.js'
import { compiledRoom } from '../support/compiled.js'
import { jsonLines, temporaryDirectory } from '../support/files.js'
import { smallRun } from './children/small-run.mjs'

const script = new URL('./children/small-run.mjs', import.meta.url)
const train = (directory: string, env: Record<string, string> = {}) =>
  runCrashing(script, [compiledRoom('run'), directory], { CRASH_UNDER: directory, ...env })

/** `CRASH_POINTS=all npx vitest run test/run/crash.slow.test.ts` takes every single one, otherwise every third. */
const everyPoint = process.env.CRASH_POINTS === 'all'

/** What a finished run must be, however often it was interrupted. */
async function expectFinished(directory: string, label: string): Promise<void> {
  const steps = jsonLines(join(directory, 'logs/metrics.jsonl')).map(({ step }) => step)
  expect(steps, label).toEqual([1, 2, 3, 4])
  expect(readdirSync(join(directory, 'checkpoints')), label).toEqual(['000004'])
  const { status, journal } = await Run.read(directory)
  expect(status, label).toBe('finished')
  for (const iteration of await journal.iterations())
    expect((await journal.read(iteration)).map(({ record }) => record.sample).sort(), label).toEqual([0, 1])
  expect(readdirSync(directory).sort(), label).toEqual(['checkpoints', 'config.json', 'journal', 'logs'])
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
  let points = 0
  let kills = 0
  const worker = async () => {
    while (next <= count) {
      const at = next
      next += everyPoint ? 1 : 3
      points++
      const directory = join(parent, String(at))
      mkdirSync(directory)
      const counted = join(parent, `count-${at}`)
      const killed = await train(directory, { CRASH_AT: String(at), CRASH_COUNT: counted })
      if (killed.signal === 'SIGKILL') kills++
      else {
        // How appends are grouped depends on timing: the last points may not be reached.
        expect(killed, `point ${at}`).toMatchObject({ code: 0 })
        expect(Number(readFileSync(counted, 'utf8')), `points of a run without point ${at}`).toBeLessThan(at)
      }
      expect(await smallRun(Run, directory), `point ${at}`).toBe(weights)
      await expectFinished(directory, `point ${at}`)
    }
  }
  await Promise.all([worker(), worker()])
  console.log(`killed at ${kills} of ${points} points (the run has ${count})`)
  expect(count).toBeGreaterThan(80)
  expect(kills).toBeGreaterThan(0.8 * points)
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

test('killed from outside at any moment: what was acknowledged is there, and nothing twice', async () => {
  const directory = temporaryDirectory()
  const acknowledged: number[] = []
  const saved: number[] = []
  for (const words of [40, 3, 90, 17, 61]) {
    const child = startChild(new URL('./children/hammer-run.mjs', import.meta.url), [compiledRoom('run'), directory])
    child.process.stdout.on('data', () => {
      if (child.printed.stdout.split('\n').length > words) child.process.kill('SIGKILL')
    })
    const { stdout: said } = await child.ended
    // A last word may be cut in half.
    for (const word of said.split('\n').slice(0, -1)) {
      const [kind, number] = word.split(' ')
      if (kind === 'record') acknowledged.push(Number(number))
      if (kind === 'checkpoint') saved.push(Number(number))
    }
  }
  expect(acknowledged.length).toBeGreaterThan(100)
  expect(saved.length).toBeGreaterThan(4)
  const view = await Run.read(directory)
  expect(view.status).toBe('crashed')
  expect((await view.latest())!.step).toBeGreaterThanOrEqual(saved.at(-1)!)
  const found = new Set<number>()
  for (const iteration of await view.journal.iterations())
    for (const { record } of await view.journal.read(iteration)) {
      expect(found.has(record.number as number)).toBe(false)
      found.add(record.number as number)
    }
  expect(acknowledged.filter(number => !found.has(number))).toEqual([])
}, 60_000)
