/** Loggers get everything in order, and no logger is in the way of a run. */
import { appendFileSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/run/identity.js'
import { createLoggers, defineLogger, type LoggedRun, type Logger, Run, syncRun } from '../../src/run/index.js'
import type { DeliveryTimes } from '../../src/run/loggers/delivery.js'
import { RunLoggers } from '../../src/run/loggers/run-loggers.js'
import { logFiles } from '../../src/run/paths.js'
import { temporaryDirectory } from '../support/files.js'
import { identity, write } from '../support/run.js'
import { readEventFile } from './event-file.js'

const times: Partial<DeliveryTimes> = { look: 5, call: 40, retry: [5, 20], end: 2000, endFailing: 60, slow: 1000 }

/** Writes down what it is told. */
function recorder(name = 'recorder', over: Partial<Logger> = {}) {
  const told: string[] = []
  const starts: LoggedRun[] = []
  const logger: Logger = {
    name,
    start: run => {
      starts.push(run)
      told.push('start')
      return { id: 7 }
    },
    metrics: entries => void told.push(...entries.map(({ step, values }) => `${step} ${Object.values(values).join()}`)),
    samples: entries => void told.push(entries.map(({ step, response }) => `${step} ${response}`).join('|')),
    artifact: ({ name, kind }) => void told.push(`${kind} ${name}`),
    end: ({ outcome }) => void told.push(outcome),
    ...over,
  }
  return { logger, told, starts }
}

const sizesOf = (directory: string) => {
  const size = (name: keyof typeof logFiles): number => statSync(join(directory, 'logs', logFiles[name])).size
  return { metrics: size('metrics'), samples: size('samples'), events: size('events') }
}

async function open(directory: string, loggers: readonly Logger[]) {
  const config = (await readConfig(join(directory, 'config.json')))!
  const warnings: string[] = []
  const sizes = () => sizesOf(directory)
  const onWarning = (message: string): void => void warnings.push(message)
  return { warnings, run: await RunLoggers.open({ directory, config, loggers, sizes, onWarning, times }) }
}

const end = { outcome: 'finished', time: 1 } as const

/** A run with numbers of a few steps, which no logger has seen. */
async function logged(steps: number, directory = temporaryDirectory()): Promise<string> {
  const run = await Run.create(directory, identity(), { loggers: [] })
  for (let step = 1; step <= steps; step++) run.metrics(step, { 'loss/train': step / 2 })
  await run.close('stopped')
  return directory
}

test('a logger gets the run, metrics, samples and files, each in order, and the end', async () => {
  const directory = temporaryDirectory()
  const { logger, told, starts } = recorder()
  const config = { seed: 1, generator: { urls: ['http://me:secret@host:8000'] } }
  const run = await Run.create(directory, identity(config), { loggers: [logger] })
  run.metrics(1, { 'loss/train': 2.5, lr: Number.NaN })
  run.metrics(2, { 'loss/train': Number.POSITIVE_INFINITY })
  for (const response of ['a', 'b'])
    run.sample({ iteration: 2, prompt: 'p', response, reward: 1, components: { x: 1 } })
  run.sample({ iteration: 3, prompt: 'p', response: 'c' })
  run.artifact('final_model', 'model')
  await run.close('finished')
  const files = ['file config.json', 'model final_model', 'file logs/samples.jsonl']
  expect(told).toEqual(['start', '1 2.5,NaN', '2 Infinity', '2 a|2 b|3 c', ...files, 'finished'])
  expect(starts[0]).toMatchObject({ directory, command: 'sft', kept: undefined, from: undefined })
  expect(JSON.stringify(starts[0]!.config)).toBe('{"seed":1,"generator":{"urls":["http://[hidden]@host:8000"]}}')
})

test('a logger that throws is told again until it takes it, and is reported once', async () => {
  const directory = await logged(40)
  let failures = 6
  const { logger, told } = recorder()
  const fail = (): void => {
    if (failures-- > 0) throw new Error('boom')
  }
  const faulty: Logger = {
    ...logger,
    start: (run, call) => {
      fail()
      return logger.start?.(run, call)
    },
    metrics: (entries, call) => {
      fail()
      return logger.metrics?.(entries, call)
    },
  }
  const { run, warnings } = await open(directory, [faulty])
  await expect.poll(() => told.length).toBeGreaterThan(40)
  await run.finish(end)
  expect(told.slice(0, 42)).toEqual([
    'start',
    ...Array.from({ length: 40 }, (_, i) => `${i + 1} ${(i + 1) / 2}`),
    'file config.json',
  ])
  expect(told.at(-1)).toBe('finished')
  expect(warnings).toEqual(['logger recorder: start: boom. The run goes on, and sends later what is missing.'])
})

test('a logger that never answers is left behind, and another gets everything', async () => {
  const directory = await logged(3)
  const hanging = recorder('hanging', { metrics: () => new Promise(() => {}) })
  const working = recorder('working')
  const { run, warnings } = await open(directory, [hanging.logger, working.logger])
  await expect.poll(() => warnings.length).toBe(1)
  const before = performance.now()
  await run.finish(end)
  expect(performance.now() - before).toBeLessThan(1000)
  expect(working.told).toEqual(['start', '1 0.5', '2 1', '3 1.5', 'file config.json', 'finished'])
  expect(warnings[0]).toContain('logger hanging: metrics: no answer in 0.04 s.')
  expect(warnings[1]).toBe(
    `logger hanging: not everything was sent (metrics: no answer in 0.04 s). To send it: whetstone runs sync ${directory}`,
  )
  // Later, by the command: what is missing and nothing else.
  const later = recorder('hanging')
  expect(await syncRun(directory, [later.logger, working.logger])).toEqual([
    { name: 'hanging', left: undefined },
    { name: 'working', left: undefined },
  ])
  expect(later.told).toEqual(
    ['1 0.5', '2 1', '3 1.5']
      .flatMap((one, i) => (i === 0 ? ['start', one] : [one]))
      .concat('file config.json', 'stopped'),
  )
  expect(later.starts[0]!.kept).toEqual({ id: 7 })
  expect(working.told.filter(one => one === 'start')).toHaveLength(1)
  const none = recorder('hanging')
  await syncRun(directory, [none.logger])
  expect(none.told).toEqual([])
})

test('what a logger returns is kept; after a kill it is told again from a whole step', async () => {
  const directory = temporaryDirectory()
  const first = recorder()
  // No end: the process died.
  const run = await Run.create(directory, identity(), { loggers: [first.logger] })
  run.metrics(1, { 'loss/train': 1 })
  await run.checkpoint(1, {}, write('w', ''))
  run.metrics(2, { 'loss/train': 2 })
  run.metrics(2, { lr: 9 })
  await run.flush()
  await expect.poll(() => first.told).toContain('2 9')
  await run.close('failed', new Error('died'))
  const second = recorder()
  const resumed = await Run.resume(directory, identity(), { loggers: [second.logger] })
  resumed.metrics(2, { 'loss/train': 2 })
  await resumed.close('finished')
  expect(second.starts[0]).toMatchObject({ kept: { id: 7 }, from: 2, id: first.starts[0]!.id })
  expect(second.told.filter(one => /^\d/.test(one))).toEqual(['2 2'])
  // One that is new gets all of it.
  const third = recorder('third')
  await syncRun(directory, [third.logger])
  expect(third.told.filter(one => /^\d/.test(one))).toEqual(['1 1', '2 2'])
})

test('many long lines come in pieces, and samples of a step in one', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity(), { loggers: [] })
  for (let iteration = 0; iteration < 30; iteration++)
    for (const response of ['x', 'y'.repeat(20_000), 'z']) run.sample({ iteration, prompt: 'p', response })
  await run.close('finished')
  const calls: number[][] = []
  await syncRun(directory, [{ name: 'own', samples: entries => void calls.push(entries.map(({ step }) => step)) }])
  expect(calls.flat()).toEqual(Array.from({ length: 90 }, (_, i) => Math.floor(i / 3)))
  expect(calls.length).toBeGreaterThan(5)
  for (const steps of calls) expect(steps.length % 3).toBe(0)
})

test('a line that a crash tore is sent when it is whole', async () => {
  const directory = await logged(2)
  const file = join(directory, 'logs', 'metrics.jsonl')
  appendFileSync(file, '{"step":3,"time"')
  const { logger, told } = recorder()
  expect(await syncRun(directory, [logger])).toEqual([{ name: 'recorder', left: undefined }])
  expect(told).toContain('2 1')
})

test('TensorBoard has the config and the texts of samples', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity())
  run.sample({ iteration: 4, prompt: 'How *old*?', response: '**3**', reward: 0.5, components: { length: 0.5 } })
  await run.close('finished')
  const [file] = readdirSync(join(directory, 'logs')).filter(name => name.startsWith('events.out'))
  const texts = readEventFile(join(directory, 'logs', file!)).filter(event => Object.keys(event.texts).length > 0)
  expect(texts.map(({ step, texts }) => ({ step, texts }))).toEqual([
    { step: 0, texts: { config: '    {\n      "seed": 1\n    }' } },
    {
      step: 4,
      texts: {
        'samples/1': '**prompt**\n\n    How *old*?\n\n**response**\n\n    **3**\n\nreward 0.5, length 0.5',
      },
    },
  ])
})

test('a logger is an object with at least one of the functions, and a name for a file', () => {
  expect(() => defineLogger({})).toThrow('expected one of the functions start, metrics, samples, artifact, end')
  expect(() => defineLogger({ name: '../x', metrics: () => {} })).toThrow('its name may only have')
  expect(() => defineLogger({ metrics: 1 as never })).toThrow('metrics: expected a function')
  expect(() => createLoggers(['tensorboard', 'tensorboard'])).toThrow('two have the name "tensorboard"')
  class Own {
    name = 'own'
    #count = 0
    metrics(): number {
      return ++this.#count
    }
  }
  expect(JSON.parse(JSON.stringify(defineLogger(new Own()))).name).toBe('own')
  expect(defineLogger(new Own()).metrics?.([], { signal: new AbortController().signal })).toBe(1)
})

test('the logs are what is sent: a logger leaves only a small file', async () => {
  const directory = await logged(500)
  await syncRun(directory, [recorder().logger])
  const cursor = readFileSync(join(directory, 'logs', 'loggers', 'recorder.json'), 'utf8')
  expect(cursor.length).toBeLessThan(200)
})
