import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { FileWriteError } from '../../src/files/index.js'
import { Run } from '../../src/run/index.js'
import { jsonLines, temporaryDirectory } from '../support/files.js'
import { flipBit, identity, write } from '../support/run.js'

afterEach(() => vi.restoreAllMocks())

const metricsOf = (directory: string) => jsonLines(join(directory, 'logs/metrics.jsonl'))
const stepsOf = (directory: string) => metricsOf(directory).map(({ step }) => step)
/** Without those that only name files for loggers. */
const eventsOf = (directory: string) =>
  jsonLines(join(directory, 'logs/events.jsonl')).filter(({ kind }) => kind !== 'artifact')

test('a resume cuts the logs back to the checkpoint: no line appears twice', async () => {
  const directory = temporaryDirectory()
  const first = await Run.create(directory, identity())
  first.skipped({ where: 'a:1', reason: 'bad-row', message: 'm' })
  first.metrics(1, { 'loss/train': 1 })
  first.metrics(2, { 'loss/train': 2 })
  await first.checkpoint(2, { at: 2 }, write('w', '2'))
  first.metrics(3, { 'loss/train': 3 })
  first.sample({ text: 'after' })
  await first.close('stopped')
  // What a killed process may leave of a line.
  appendFileSync(join(directory, 'logs/metrics.jsonl'), '{"step":4,"ti')
  appendFileSync(join(directory, 'logs/events.jsonl'), '{"time":"2')

  const second = await Run.resume(directory, identity())
  expect([second.resumed, (await second.latest())?.state]).toEqual([true, { at: 2 }])
  expect([first.fromStart, second.fromStart]).toEqual([true, false])
  second.skipped({ where: 'a:2', reason: 'bad-row', message: 'm' })
  second.metrics(3, { 'loss/train': 33 })
  await second.close('finished')
  expect(stepsOf(directory)).toEqual([1, 2, 3])
  expect(metricsOf(directory).at(-1)).toMatchObject({ values: { 'loss/train': 33 } })
  expect(readFileSync(join(directory, 'logs/samples.jsonl'), 'utf8')).toBe('')
  expect(jsonLines(join(directory, 'logs/skipped.jsonl')).map(({ where }) => where)).toEqual(['a:1', 'a:2'])
  expect(eventsOf(directory).map(({ kind }) => kind)).toEqual([
    'started',
    'checkpoint',
    'stopped',
    'resumed',
    'finished',
  ])
})

test('a resume before the first checkpoint starts the logs over', async () => {
  const directory = temporaryDirectory()
  const first = await Run.create(directory, identity())
  first.metrics(1, { 'loss/train': 1 })
  await first.close('failed', new Error('no memory'))
  const second = await Run.resume(directory, identity())
  expect(await second.latest()).toBeUndefined()
  second.metrics(1, { 'loss/train': 1 })
  await second.close('finished')
  expect(stepsOf(directory)).toEqual([1])
  expect(eventsOf(directory)[1]).toMatchObject({ kind: 'failed', error: 'no memory' })
})

test('the newest checkpoints stay, those to be kept always do, and exports are never touched', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity(), { keepCheckpoints: 2 })
  for (const name of ['best_model', 'iteration_000001']) mkdirSync(join(directory, name))
  for (let step = 1; step <= 5; step++)
    await run.checkpoint(step, { step }, write('w', 'x'), step === 2 ? { keep: 'always' } : {})
  expect(readdirSync(join(directory, 'checkpoints')).sort()).toEqual(['000002', '000004', '000005'])
  expect(existsSync(join(directory, 'best_model')) && existsSync(join(directory, 'iteration_000001'))).toBe(true)
  // The same step again replaces it.
  await run.checkpoint(5, { step: 'again' }, write('w', 'y'))
  expect((await run.latest())?.state).toEqual({ step: 'again' })
  await run.close('finished')
})

test('old checkpoints go only when the new one is in place', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity(), { keepCheckpoints: 1 })
  await run.checkpoint(1, {}, write('w', 'x'))
  const full = async () => {
    throw Object.assign(new Error('ENOSPC: write'), { code: 'ENOSPC', syscall: 'write' })
  }
  await expect(run.checkpoint(2, {}, full)).rejects.toThrow(FileWriteError)
  expect(readdirSync(join(directory, 'checkpoints'))).toEqual(['000001'])
  await run.checkpoint(2, {}, write('w', 'x'))
  expect(readdirSync(join(directory, 'checkpoints'))).toEqual(['000002'])
  await run.close('finished')
})

const damages: readonly [string, (at: string) => void, string | RegExp][] = [
  ['a file is missing', at => rmSync(join(at, 'model/weights')), 'model/weights is missing'],
  ['a file is short', at => truncateSync(join(at, 'model/weights'), 3), 'model/weights has 3 bytes, not 6'],
  ['state.json is missing', at => rmSync(join(at, 'state.json')), 'state.json is missing'],
  ['state.json is short', at => truncateSync(join(at, 'state.json'), 60), 'state.json is damaged'],
  [
    'a number in it is another',
    at =>
      writeFileSync(
        join(at, 'state.json'),
        readFileSync(join(at, 'state.json'), 'utf8').replace('"seen":20', '"seen":21'),
      ),
    'state.json is damaged',
  ],
  [
    'a bit of a file is flipped',
    at => flipBit(join(at, 'model/weights'), 3),
    /^model\/weights is damaged: its checksum is [0-9a-f]{8}, not [0-9a-f]{8}$/,
  ],
  ['the bit of the format is flipped', at => flipBit(join(at, 'state.json'), 17), 'state.json is damaged'],
  [
    'the directory is empty',
    at => {
      for (const name of readdirSync(at)) rmSync(join(at, name), { recursive: true })
    },
    'state.json is missing',
  ],
]
test.each(damages)('a checkpoint of which %s is passed over for the one before', async (_, damage, reason) => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity())
  const fill = async (at: string) => {
    mkdirSync(join(at, 'model'))
    writeFileSync(join(at, 'model/weights'), 'abcdef')
  }
  for (const step of [1, 2]) {
    run.metrics(step, { 'loss/train': step })
    await run.checkpoint(step, { seen: step * 10 }, fill)
  }
  await run.close('stopped')
  const newest = join(directory, 'checkpoints/000002')
  damage(newest)
  const notes: string[] = []
  const resumed = await Run.resume(directory, identity(), { onWarning: note => notes.push(note) })
  expect(notes).toEqual([expect.stringContaining(`${newest} is skipped: `)])
  expect(await resumed.latest()).toMatchObject({ step: 1, state: { seen: 10 } })
  await resumed.flush()
  expect(stepsOf(directory)).toEqual([1])
  expect(eventsOf(directory).filter(({ kind }) => kind === 'warning')[0]).toMatchObject({
    directory: newest,
    reason: typeof reason === 'string' ? reason : expect.stringMatching(reason),
  })
  await resumed.checkpoint(2, { seen: 21 }, fill)
  expect(await resumed.latest()).toMatchObject({ step: 2, state: { seen: 21 } })
  await resumed.close('finished')
})

test('every bit of every file of a checkpoint is covered', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity())
  const fill = async (at: string) => {
    for (const name of ['a', 'b']) {
      mkdirSync(join(at, name))
      writeFileSync(join(at, name, 'weights'), `${name}${'x'.repeat(200)}`)
    }
  }
  for (const step of [1, 2]) await run.checkpoint(step, { step }, fill)
  await run.close('stopped')
  const newest = join(directory, 'checkpoints/000002')
  for (const name of ['a/weights', 'b/weights', 'state.json']) {
    const file = join(newest, name)
    const { length } = readFileSync(file)
    for (let i = 0; i < 12; i++) {
      const [at, bit] = [Math.floor(((i + 0.5) / 12) * length), i % 8]
      flipBit(file, at, bit)
      const resumed = await Run.resume(directory, identity())
      expect((await resumed.latest())?.step, `${name}, byte ${at}, bit ${bit}`).toBe(1)
      await resumed.close('stopped')
      flipBit(file, at, bit)
    }
  }
  const whole = await Run.resume(directory, identity())
  expect((await whole.latest())?.step).toBe(2)
  await whole.close('stopped')
})

test('a damaged checkpoint is not among those that stay', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity())
  for (const step of [2, 4]) await run.checkpoint(step, {}, write('w', 'x'))
  await run.close('stopped')
  flipBit(join(directory, 'checkpoints/000004/w'), 0)
  const resumed = await Run.resume(directory, identity())
  await resumed.checkpoint(3, {}, write('w', 'x'))
  expect(readdirSync(join(directory, 'checkpoints')).sort()).toEqual(['000002', '000003', '000004'])
  await resumed.checkpoint(5, {}, write('w', 'x'))
  expect(readdirSync(join(directory, 'checkpoints')).sort()).toEqual(['000003', '000005'])
  await resumed.close('stopped')
})

test('without a whole checkpoint a run does not start over by itself', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity())
  run.metrics(1, { 'loss/train': 1 })
  for (const step of [1, 2]) await run.checkpoint(step, {}, write('w', 'x'))
  await run.close('stopped')
  const checkpoints = join(directory, 'checkpoints')
  for (const step of ['000001', '000002']) flipBit(join(checkpoints, step, 'w'), 0)
  await expect(Run.resume(directory, identity())).rejects.toMatchObject({
    message: expect.stringMatching(/has no checkpoint that can be resumed:\n.*000002: w is damaged.*\n.*000001: w/),
    remedy: expect.stringContaining(`remove ${checkpoints} and resume: then the run starts again from its first step.`),
  })
  expect(stepsOf(directory)).toEqual([1])
  // The lock is free again; whoever removes them has chosen, and is told.
  rmSync(checkpoints, { recursive: true })
  const notes: string[] = []
  const again = await Run.resume(directory, identity(), { onWarning: note => notes.push(note) })
  expect(notes).toEqual([`${checkpoints} has no checkpoint: the run starts again from its first step.`])
  expect(await again.latest()).toBeUndefined()
  await again.close('stopped')
  expect(eventsOf(directory).findLast(({ kind }) => kind === 'warning')).toMatchObject({ message: notes[0] })
})

test('what a newer version wrote is refused, not passed over', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity())
  await run.checkpoint(1, {}, write('w', ''))
  await run.close('stopped')
  const state = join(directory, 'checkpoints/000001/state.json')
  const body = /"body":(.*)\}\n$/s
    .exec(readFileSync(state, 'utf8'))![1]!
    .replace('"schemaVersion":1', '"schemaVersion":2')
  const sum = createHash('sha256').update(body).digest('hex')
  writeFileSync(state, `{"schemaVersion":2,"sha256":"${sum}","body":${body}}\n`)
  await expect(Run.resume(directory, identity())).rejects.toMatchObject({
    message: `${join(directory, 'checkpoints/000001')} was written by a newer Whetstone (format 2; this version reads up to format 1)`,
  })
  const config = join(directory, 'config.json')
  writeFileSync(config, readFileSync(config, 'utf8').replace('"schemaVersion": 1', '"schemaVersion": 9'))
  await expect(Run.resume(directory, identity())).rejects.toThrow(
    'config.json was written by a newer Whetstone (format 9',
  )
})
