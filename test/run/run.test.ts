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
import { FileWriteError, machineMark, processStart } from '../../src/files/index.js'
import { Journal, metricNames, Run } from '../../src/run/index.js'
import { fullDisk, hangingDisk } from '../support/file-faults.js'
import { jsonLines, temporaryDirectory } from '../support/files.js'
import { flipBit, identity, write } from '../support/run.js'

afterEach(() => vi.restoreAllMocks())

const metricsOf = (directory: string) => jsonLines(join(directory, 'logs/metrics.jsonl'))
const stepsOf = (directory: string) => metricsOf(directory).map(({ step }) => step)
const eventsOf = (directory: string) => jsonLines(join(directory, 'logs/events.jsonl'))

test('a run from its start to its end', async () => {
  const directory = join(temporaryDirectory(), 'runs/one')
  const run = await Run.create(directory, identity({ seed: 7, lr: 1e-3 }))
  expect(run.resumed).toBe(false)
  run.metrics(1, { 'loss/train': 2.5, lr: 1e-3, 'reward/component/my reward': Number.NaN })
  run.event('evaluation', { step: 1 })
  run.skipped({ where: 'data.jsonl:3', reason: 'bad-row', message: 'prompt: missing' })
  run.sample({ step: 1, text: 'ünïcode\nline' })
  await run.checkpoint(1, { cursor: { epoch: 0, position: 3 }, best: Number.NEGATIVE_INFINITY }, write('weights', 'w1'))
  expect(await run.latest()).toEqual({
    step: 1,
    state: { cursor: { epoch: 0, position: 3 }, best: Number.NEGATIVE_INFINITY },
    directory: join(directory, 'checkpoints/000001'),
  })
  await run.close('finished')
  await run.close('failed')

  expect(readdirSync(directory).sort()).toEqual(['checkpoints', 'config.json', 'journal', 'logs'])
  const config = JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8'))
  expect(config).toMatchObject({
    schemaVersion: 1,
    command: 'sft',
    config: { seed: 7, lr: 1e-3 },
    versions: { whetstone: '0.1.0' },
  })
  expect(metricsOf(directory)).toEqual([
    { step: 1, time: expect.any(String), values: { 'loss/train': 2.5, lr: 1e-3, 'reward/component/my reward': 'NaN' } },
  ])
  expect(eventsOf(directory).map(({ kind }) => kind)).toEqual(['started', 'evaluation', 'checkpoint', 'finished'])
  expect(jsonLines(join(directory, 'logs/skipped.jsonl'))).toMatchObject([{ where: 'data.jsonl:3', reason: 'bad-row' }])
  expect(jsonLines(join(directory, 'logs/samples.jsonl'))).toMatchObject([{ text: 'ünïcode\nline' }])
})

test('a directory with a run is not started in again; one that lost its config.json is refused', async () => {
  const directory = temporaryDirectory()
  await (await Run.create(directory, identity())).close('stopped')
  await expect(Run.create(directory, identity())).rejects.toMatchObject({
    message: `${directory} already has a run`,
    remedy: 'Resume it with --resume, or choose another directory for the new run.',
  })
  // The refusal let go of the lock.
  const run = await Run.resume(directory, identity())
  await run.checkpoint(1, {}, write('w', ''))
  await run.close('stopped')
  rmSync(join(directory, 'config.json'))
  await expect(Run.resume(directory, identity())).rejects.toThrow('checkpoints holds 000001, but')
})

test('a resume where nothing had begun begins', async () => {
  const run = await Run.resume(join(temporaryDirectory(), 'new'), identity())
  expect([run.resumed, await run.latest()]).toEqual([false, undefined])
  await run.close('finished')
})

test('a config.json of something else is no run', async () => {
  const directory = temporaryDirectory()
  const file = join(directory, 'config.json')
  for (const [text, what] of [
    ['{"model_type": "llama"}', ' is not the config of a run, but of a model'],
    ['{}', ' is not the config of a run'],
    ['null', ' is not the config of a run'],
    ['', ' is damaged: Unexpected end of JSON input'],
  ] as const) {
    writeFileSync(file, text)
    for (const open of [Run.create, Run.resume])
      await expect(open(directory, identity()), text).rejects.toThrow(`${file}${what}`)
    await expect(Run.read(directory), text).rejects.toThrow(`${file}${what}`)
  }
})

test('what killed processes left goes when the run is opened; what a living one uses stays', async () => {
  const directory = temporaryDirectory()
  await (await Run.create(directory, identity())).close('stopped')
  const dead = `4194301-1-${machineMark}-01234567`
  const living = `${process.pid}-${processStart(process.pid)}-${machineMark}-01234567`
  const elsewhere = '7-1-00000000-01234567'
  const names = (owner: string) => [
    `.config.json.${owner}.tmp`,
    `.best_model.${owner}.tmp`,
    `iteration_000001/.value_model.${owner}.tmp`,
    `checkpoints/.000003.${owner}.tmp`,
    `.best_model.${owner}.old`,
  ]
  for (const name of ['iteration_000001', 'best_model']) mkdirSync(join(directory, name))
  for (const owner of [dead, living, elsewhere])
    for (const name of names(owner)) {
      mkdirSync(join(directory, name))
      writeFileSync(join(directory, name, 'weights'), owner)
    }
  const run = await Run.resume(directory, identity())
  const left = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(name => /\.(tmp|old)$/.test(name))
  expect(left.sort()).toEqual([...names(living), ...names(elsewhere)].sort())
  await run.close('stopped')
})

test('a name without a description is refused, with the one that was meant', async () => {
  const run = await Run.create(temporaryDirectory(), identity())
  expect(() => run.metrics(1, { 'reward/meam': 1 })).toThrow(
    'there is no metric "reward/meam"; did you mean reward/mean?',
  )
  for (const step of [-1, 0.5, Number.NaN])
    expect(() => run.metrics(step, {})).toThrow(`expected a step of at least 0, got ${step}`)
  expect(() => run.metrics(1, { 'drops/': 1 })).toThrow('there is no metric "drops/"')
  run.metrics(1, { 'drops/zero-variance': 1, 'seconds/generation': 2 })
  expect(new Set(metricNames.map(({ name }) => name)).size).toBe(metricNames.length)
  await run.close('finished')
})

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
  expect(notes).toEqual([expect.stringContaining(`${newest} is passed over: `)])
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

test('a change that matters outdates the journal from where the checkpoint says, before the change is written down', async () => {
  const directory = join(temporaryDirectory(), 'run')
  const before = identity({ lr: 1, evaluation: { every: 5 } })
  const run = await Run.create(directory, before)
  for (const iteration of [0, 1, 2]) await run.journal.append(iteration, { kind: 'outcome' })
  await run.checkpoint(1, { iteration: 1 }, async () => {})
  await run.close('stopped')

  const options = {
    harmless: ['evaluation'],
    allowChange: ['lr'],
    outdatedFrom: (state: unknown) => (state as { iteration: number } | undefined)?.iteration ?? 0,
  }
  const often = await Run.resume(directory, identity({ lr: 1, evaluation: { every: 1 } }), options)
  expect(await often.journal.iterations()).toEqual([0, 1, 2])
  await often.close('stopped')

  // A process that dies between the two has the change still to make.
  const faster = identity({ lr: 2, evaluation: { every: 1 } })
  const killed = vi.spyOn(Journal.prototype, 'discardFrom').mockRejectedValueOnce(new Error('killed'))
  await expect(Run.resume(directory, faster, options)).rejects.toThrow('killed')
  killed.mockRestore()
  await expect(Run.resume(directory, faster, { ...options, allowChange: [] })).rejects.toThrow(/lr: was 1, is now 2/)
  const changed = await Run.resume(directory, faster, options)
  expect(await changed.journal.iterations()).toEqual([0])
  await changed.close('stopped')
})

test('a changed config or dataset is refused with every change, unless it is harmless or allowed', async () => {
  const directory = temporaryDirectory()
  const before = identity(
    { lr: { value: 1e-3, warmup: 10 }, out: 'a', data: ['x.jsonl'], gone: undefined, stop: true },
    { fingerprints: { 'x.jsonl': 'aa' } },
  )
  await (await Run.create(directory, before)).close('stopped')
  const after = identity(
    { lr: { value: 2e-3, warmup: 10 }, out: 'b', data: ['x.jsonl', 'y.jsonl'], extra: 1, stop: true },
    { fingerprints: { 'x.jsonl': 'bb', 'y.jsonl': 'cc' } },
  )
  await expect(Run.resume(directory, after, { harmless: ['out'] })).rejects.toMatchObject({
    message: `${directory}: options or inputs of the run have changed:
  lr.value: was 0.001, is now 0.002
  data: was ["x.jsonl"], is now ["x.jsonl","y.jsonl"]
  extra: was not there, is now 1
  dataset x.jsonl: was "aa", is now "bb"
  dataset y.jsonl: was not there, is now "cc"`,
    remedy:
      'Undo the change, start a new run, or accept the change: resume with --allow-change lr.value --allow-change data --allow-change extra --allow-change dataset.',
  })
  // A key allows what is below it, but not a longer name.
  await expect(
    Run.resume(directory, after, { harmless: ['out'], allowChange: ['lr', 'data', 'extr', 'dataset'] }),
  ).rejects.toThrow(/changed:\n {2}extra: was not there, is now 1$/)
  const run = await Run.resume(directory, after, { harmless: ['out'], allowChange: ['lr', 'data', 'extra', 'dataset'] })
  await run.close('stopped')
  const { changes } = (await Run.read(directory)).config
  const keys = ['lr.value', 'out', 'data', 'extra', 'dataset x.jsonl', 'dataset y.jsonl']
  expect(changes.map(({ key }) => key)).toEqual(keys)
  // From then on it is the run's.
  await (await Run.resume(directory, after)).close('stopped')
  expect((await Run.read(directory)).config).toMatchObject({
    config: { lr: { value: 2e-3 } },
    changes: [{ key: 'lr.value', from: 1e-3, to: 2e-3 }, {}, {}, {}, {}, {}],
  })
  await expect(Run.resume(directory, { ...after, command: 'rl' })).rejects.toThrow('is a run of `sft`, not of `rl`')
})

test('a full disk: logging goes on, flush and checkpoint say so, and nothing is lost or torn when there is space again', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity())
  await run.flush()
  await fullDisk('ENOSPC', 5)
  run.metrics(1, { 'loss/train': 1 })
  await expect(run.flush()).rejects.toMatchObject({ name: 'FileWriteError', code: 'ENOSPC' })
  run.metrics(2, { 'loss/train': 2 })
  await expect(run.checkpoint(2, {}, write('w', ''))).rejects.toThrow(FileWriteError)
  expect(readdirSync(join(directory, 'checkpoints'))).toEqual([])
  expect(readFileSync(join(directory, 'logs/metrics.jsonl'), 'utf8')).toBe('')
  vi.restoreAllMocks()
  run.metrics(3, { 'loss/train': 3 })
  await run.checkpoint(3, {}, write('w', ''))
  expect(stepsOf(directory)).toEqual([1, 2, 3])
  await run.close('finished')
})

test('how a run stands is seen without touching it', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity())
  run.metrics(1, { 'loss/train': 1, 'loss/validation': Number.NaN })
  run.metrics(1, { 'loss/train': 1.5 })
  run.metrics(3, { 'loss/train': 3 })
  await run.journal.append(1, { kind: 'x' })
  await run.checkpoint(4, { a: 1 }, write('w', ''))
  appendFileSync(join(directory, 'logs/metrics.jsonl'), '{"step":5,')
  const view = await Run.read(directory)
  expect(view).toMatchObject({ status: 'running', step: 3, checkpoints: [4], owner: { pid: process.pid } })
  expect(view.metrics.get('loss/train')!.map(({ step, value }) => [step, value])).toEqual([
    [1, 1.5],
    [3, 3],
  ])
  expect(view.metrics.get('loss/validation')![0]!.value).toBeNaN()
  expect(await view.journal.iterations()).toEqual([1])
  expect((await view.latest())?.state).toEqual({ a: 1 })
  await run.close('stopped')
  expect((await Run.read(directory)).status).toBe('stopped')
  await (await Run.resume(directory, identity())).close('failed', new Error('why'))
  expect((await Run.read(directory)).status).toBe('failed')
  await (await Run.resume(directory, identity())).close('finished')
  expect((await Run.read(directory)).status).toBe('finished')
  await expect(Run.read(join(directory, 'logs'))).rejects.toThrow('is not a run: it has no config.json')
})

test('a bad line of a log is left out, and nothing else is', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity())
  for (const step of [1, 2, 3]) run.metrics(step, { 'loss/train': step })
  await run.checkpoint(3, {}, write('w', ''))
  await run.close('stopped')
  for (const name of ['metrics', 'events']) {
    const file = join(directory, `logs/${name}.jsonl`)
    const lines = readFileSync(file, 'utf8').split('\n')
    const bad = ['{"step":', 'null', '[]', '7', '{"step":2,"values":[]}', '{"kind":7}', '\0\0']
    // As many bytes as before, so that the checkpoint's offsets are still those of lines.
    lines[1] = bad[0]!.padEnd(lines[1]!.length)
    writeFileSync(file, [...lines.slice(0, -1), ...bad.slice(1), ''].join('\n'))
  }
  const view = await Run.read(directory)
  expect(view.status).toBe('stopped')
  expect(view.metrics.get('loss/train')!.map(({ step }) => step)).toEqual([1, 3])
  expect(view.badLines).toContain(`${join(directory, 'logs/metrics.jsonl')}:2`)
  expect(view.updated).toBeGreaterThan(0)
  const resumed = await Run.resume(directory, identity())
  resumed.metrics(4, { 'loss/train': 4 })
  await resumed.close('finished')
  expect((await Run.read(directory)).metrics.get('loss/train')!.map(({ step }) => step)).toEqual([1, 3, 4])
})

test('logging does not wait for the disk: while it hangs, steps go on, and all is written in order when it is back', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity())
  await run.flush()
  const release = await hangingDisk()
  let ticks = 0
  for (let step = 1; step <= 200; step++) {
    run.metrics(step, { 'loss/train': step, lr: 1 })
    run.event('evaluation', { step })
    if (step % 40 === 0) await new Promise<void>(resolve => setTimeout(() => resolve(void ticks++), 100))
  }
  expect(ticks).toBe(5)
  expect(stepsOf(directory)).toEqual([])
  release()
  await run.flush()
  expect(stepsOf(directory)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1))
  await run.close('finished')
})
