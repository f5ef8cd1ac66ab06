/** MLflow over its REST API, with a double that keeps all that it is sent. `npm run test:mlflow` has a real one. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/run/identity.js'
import { Run, type RunIdentity, syncRun } from '../../src/run/index.js'
import type { DeliveryTimes } from '../../src/run/loggers/delivery.js'
import { mlflowLogger } from '../../src/run/loggers/mlflow.js'
import { RunLoggers } from '../../src/run/loggers/run-loggers.js'
import { MlflowDouble, type Point } from '../support/doubles/mlflow-server.js'
import { temporaryDirectory } from '../support/files.js'
import { identity, write } from '../support/run.js'

const loggerFor = ({ url }: MlflowDouble, env: NodeJS.ProcessEnv = {}) =>
  mlflowLogger({ MLFLOW_TRACKING_URI: url, ...env })

const steps = (points: readonly Point[], name = 'loss/train'): number[] =>
  points.filter(({ key }) => key === name).map(({ step }) => step)

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1)

async function logged(count: number, of: RunIdentity = identity()): Promise<string> {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, of, { loggers: [] })
  for (const step of upTo(count)) run.metrics(step, { 'loss/train': step, lr: 0.1 })
  await run.close('finished')
  return directory
}

test('a run is an MLflow run: metrics, options, tags, samples, files and its end', async () => {
  const double = await MlflowDouble.start()
  const directory = temporaryDirectory()
  const long = 'x'.repeat(9000)
  const many = Object.fromEntries(upTo(230).map(i => [`option${i}`, i]))
  const config = { model: 'm', optimizer: { lr: 0.1, betas: [0.9, 0.99] }, systemPrompt: long, 'odd name?': true, many }
  const env = { MLFLOW_EXPERIMENT_NAME: 'my experiment', MLFLOW_TRACKING_TOKEN: 'secret-token' }
  const run = await Run.create(directory, identity(config), { loggers: [loggerFor(double, env)] })
  run.metrics(1, { 'loss/train': 2.5, lr: Number.NaN })
  run.metrics(2, { 'loss/train': Number.NEGATIVE_INFINITY })
  run.sample({ iteration: 2, prompt: 'p', response: 'r', reward: 1, components: { exact: 1 } })
  run.artifact('final_model', 'model')
  await run.close('finished')
  const [only, ...more] = double.runs
  expect(more).toEqual([])
  expect([...double.experiments]).toEqual([['my experiment', '1']])
  const { points, params, tags, status } = only!
  expect(status).toBe('FINISHED')
  expect(points.map(({ key, value, step }) => [key, value, step])).toEqual([
    ['loss/train', 2.5, 1],
    ['lr', 'NaN', 1],
    ['loss/train', '-Infinity', 2],
  ])
  expect(Math.abs(points[0]!.timestamp - Date.now())).toBeLessThan(60_000)
  expect(params.size).toBe(235)
  expect(params.get('optimizer.betas')).toBe('[0.9,0.99]')
  expect(params.get('systemPrompt')).toHaveLength(6000)
  expect(params.get('odd name_')).toBe('true')
  expect(tags.get('whetstone.directory')).toBe(directory)
  expect(tags.get('whetstone.model.final_model')).toBe(join(directory, 'final_model'))
  expect(JSON.parse(double.artifacts.get('1/run1/artifacts/samples/step_000002.json')!)).toEqual({
    columns: ['step', 'prompt', 'response', 'reward', 'reward/exact'],
    data: [[2, 'p', 'r', 1, 1]],
  })
  const sent = double.artifacts.get('1/run1/artifacts/config.json')
  expect(sent).toBe(readFileSync(join(directory, 'config.json'), 'utf8'))
  expect(double.authorizations.every(one => one === 'Bearer secret-token')).toBe(true)
})

test('more points than a request takes, and an older server that takes shorter values', async () => {
  const double = await MlflowDouble.start()
  double.paramLength = 250
  const directory = await logged(1300, identity({ text: 'y'.repeat(700) }))
  expect(await syncRun(directory, [loggerFor(double)])).toEqual([{ name: 'mlflow', left: undefined }])
  expect(steps(double.runs[0]!.points)).toEqual(upTo(1300))
  expect(double.runs[0]!.params.get('text')).toHaveLength(250)
})

test('a resumed run is the same MLflow run, and each point is there once', async () => {
  const double = await MlflowDouble.start()
  const directory = temporaryDirectory()
  const first = await Run.create(directory, identity({ seed: 1, maxSteps: 5 }), { loggers: [loggerFor(double)] })
  for (const step of [1, 2]) first.metrics(step, { 'loss/train': step })
  await first.checkpoint(2, {}, write('w', ''))
  for (const step of [3, 4]) first.metrics(step, { 'loss/train': step })
  await first.close('stopped')
  expect(double.runs[0]!.status).toBe('KILLED')
  const options = { loggers: [loggerFor(double)], harmless: ['maxSteps'] }
  const second = await Run.resume(directory, identity({ seed: 1, maxSteps: 6 }), options)
  // Made again since the checkpoint, with evaluations that the first did not come to.
  second.metrics(3, { 'loss/train': 3 })
  second.metrics(4, { 'loss/train': 4 })
  second.metrics(4, { 'loss/validation': 4 })
  second.metrics(5, { 'loss/train': 5 })
  await second.close('finished')
  expect(double.runs).toHaveLength(1)
  const { points, params, tags, status } = double.runs[0]!
  expect(steps(points)).toEqual([1, 2, 3, 4, 5])
  expect(steps(points, 'loss/validation')).toEqual([4])
  expect(status).toBe('FINISHED')
  // A parameter of MLflow cannot change.
  expect([params.get('maxSteps'), tags.get('whetstone.changed.maxSteps')]).toEqual(['5', '6'])
})

const times: Partial<DeliveryTimes> = { look: 5, retry: [5, 20], end: 5000, endFailing: 50 }

async function live(directory: string, double: MlflowDouble, over: Partial<DeliveryTimes> = {}) {
  const run = await Run.create(directory, identity(), { loggers: [] })
  const warnings: string[] = []
  const loggers = await RunLoggers.open({
    directory,
    config: (await readConfig(join(directory, 'config.json')))!,
    loggers: [loggerFor(double)],
    sizes: () => sizes,
    onWarning: message => void warnings.push(message),
    times: { ...times, ...over },
  })
  const sizes = { metrics: 0, samples: 0, events: 0 }
  const log = async (step: number): Promise<void> => {
    run.metrics(step, { 'loss/train': step })
    await run.flush()
    sizes.metrics = readFileSync(join(directory, 'logs', 'metrics.jsonl')).length
  }
  const finish = async (): Promise<void> => {
    await run.close('finished')
    await loggers.finish({ outcome: 'finished', time: Date.now() })
  }
  return { log, finish, warnings }
}

test('a server that is away at the start, dies in the middle and answers 500 gets each point once', async () => {
  const double = await MlflowDouble.start()
  await double.close()
  const { log, finish, warnings } = await live(temporaryDirectory(), double)
  for (const step of upTo(5)) await log(step)
  await expect.poll(() => warnings.length).toBe(1)
  expect(warnings[0]).toBe(
    `logger mlflow: start: ${double.url}: nothing listens there. The run goes on, and sends later what is missing.`,
  )
  await double.listen()
  await expect.poll(() => steps(double.runs[0]?.points ?? [])).toEqual(upTo(5))
  // It takes the points and dies before it answers: they are not sent again.
  let lost = 0
  double.fault = path => (path.endsWith('log-batch') && lost++ === 0 ? 'lose' : undefined)
  await log(6)
  await expect.poll(() => lost).toBeGreaterThan(0)
  await log(7)
  await expect.poll(() => steps(double.runs[0]!.points)).toEqual(upTo(7))
  await double.close()
  await log(8)
  await double.listen()
  let refused = 0
  double.fault = path => (path.endsWith('log-batch') && refused++ < 3 ? '500' : undefined)
  await log(9)
  await expect.poll(() => steps(double.runs[0]!.points)).toEqual(upTo(9))
  await finish()
  expect(double.runs).toHaveLength(1)
  expect(double.runs[0]!.status).toBe('FINISHED')
  expect(warnings).toHaveLength(1)
})

test('a slow server slows nothing; what it has not got at the end is sent by the command', async () => {
  const double = await MlflowDouble.start()
  double.delay = 300
  const directory = temporaryDirectory()
  const { log, finish, warnings } = await live(directory, double, { end: 100 })
  const before = performance.now()
  for (const step of upTo(20)) await log(step)
  await finish()
  expect(performance.now() - before).toBeLessThan(2000)
  expect(warnings).toEqual([
    `logger mlflow: not everything was sent (it did not answer in time). To send it: whetstone runs sync ${directory}`,
  ])
  double.delay = 0
  await syncRun(directory, [loggerFor(double)])
  expect(double.runs).toHaveLength(1)
  expect(steps(double.runs[0]!.points)).toEqual(upTo(20))
})

test('a dead server costs the end of a run a moment', async () => {
  const double = await MlflowDouble.start()
  await double.close()
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity(), { loggers: [loggerFor(double)] })
  run.metrics(1, { 'loss/train': 1 })
  const before = performance.now()
  await run.close('finished')
  expect(performance.now() - before).toBeLessThan(1500)
  await double.listen()
  await syncRun(directory, [loggerFor(double)])
  expect(steps(double.runs[0]!.points)).toEqual([1])
})

test('a run that the server no longer has is an error in words; deleting the file sends all again', async () => {
  const double = await MlflowDouble.start()
  const directory = await logged(2)
  await syncRun(directory, [loggerFor(double)])
  double.runs.length = 0
  const cursor = join(directory, 'logs', 'loggers', 'mlflow.json')
  const kept = JSON.parse(readFileSync(cursor, 'utf8')) as { ended: boolean }
  writeFileSync(cursor, JSON.stringify({ ...kept, ended: false }))
  const [result] = await syncRun(directory, [loggerFor(double)])
  expect(result!.left).toContain('the server has no run run1 any more; delete logs/loggers/mlflow.json')
  rmSync(cursor)
  await syncRun(directory, [loggerFor(double)])
  expect(steps(double.runs[0]!.points)).toEqual([1, 2])
})

test('settings are those of the environment, and no message shows a secret', async () => {
  expect(() => mlflowLogger({})).toThrow('loggers: mlflow needs the address of a server in MLFLOW_TRACKING_URI')
  expect(() => mlflowLogger({ MLFLOW_TRACKING_URI: 'sqlite:///a.db' })).toThrow('expected the http:// or https://')
  const double = await MlflowDouble.start()
  double.fault = () => '500'
  const directory = await logged(1)
  const env = { MLFLOW_TRACKING_USERNAME: 'me', MLFLOW_TRACKING_PASSWORD: 'pass word' }
  const [result] = await syncRun(directory, [loggerFor(double, env)])
  expect(result!.left).toBe(`start: ${double.url} answered 500: the database is locked`)
  expect(double.authorizations[0]).toBe(`Basic ${Buffer.from('me:pass word').toString('base64')}`)
})
