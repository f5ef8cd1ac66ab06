import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { FileWriteError, machineMark, processStart } from '../../src/files/index.js'
import { Journal, metricNames, Run } from '../../src/run/index.js'
import { fullDisk, hangingDisk } from '../support/file-faults.js'
import { jsonLines, temporaryDirectory } from '../support/files.js'
import { identity, write } from '../support/run.js'

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
  expect(eventsOf(directory).map(({ kind, name }) => [kind, ...(name ? [name] : [])].join(' '))).toEqual([
    ...['started', 'artifact config.json', 'evaluation', 'checkpoint'],
    ...['artifact logs/samples.jsonl', 'artifact logs/skipped.jsonl', 'finished'],
  ])
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
  await expect(Run.resume(directory, identity())).rejects.toThrow('checkpoints contains 000001, but')
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
  await expect(run.flush()).rejects.toMatchObject({
    name: 'FileWriteError',
    code: 'WHETSTONE_FILE_WRITE',
    errno: 'ENOSPC',
  })
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
