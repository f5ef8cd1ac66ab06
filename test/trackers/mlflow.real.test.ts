/** Runs against a real MLflow server, read back by its own Python client; and event files, read by TensorBoard itself. */
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { grpo, sft } from '../../src/index.js'
import { Run, syncRun } from '../../src/run/index.js'
import { mlflowLogger } from '../../src/run/loggers/mlflow.js'
import { atEnd } from '../support/at-end.js'
import { startChild } from '../support/child.js'
import { compiledRoom } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'
import { identity } from '../support/run.js'

const python = process.env.WHETSTONE_MLFLOW_PYTHON!
const script = fileURLToPath(new URL('read-back.py', import.meta.url))

interface ReadRun {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly params: Record<string, string>
  readonly tags: Record<string, string>
  readonly metrics: Record<string, [step: number, value: number | string][]>
  readonly files: Record<string, string>
}

function readBack<T>(...args: string[]): T {
  return JSON.parse(
    execFileSync(python, [script, ...args], {
      encoding: 'utf8',
      maxBuffer: 1 << 26,
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  ) as T
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

let uri: string
let model: string
beforeAll(async () => {
  const folder = temporaryDirectory()
  const port = await freePort()
  uri = `http://127.0.0.1:${port}`
  const store = [
    '--backend-store-uri',
    `sqlite:///${folder}/mlflow.db`,
    '--artifacts-destination',
    join(folder, 'artifacts'),
  ]
  const args = ['-m', 'mlflow', 'server', '--host', '127.0.0.1', '--port', String(port), '--workers', '1', ...store]
  const server = spawn(python, args, { stdio: 'ignore', cwd: folder, detached: true })
  atEnd(() => void process.kill(-server.pid!, 'SIGKILL'))
  for (let ready = false; !ready; ) {
    ready = await fetch(`${uri}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
    await sleep(500)
  }
  process.env.MLFLOW_TRACKING_URI = uri
  model = await modelDirectory(1)
}, 600_000)

const rows = Array.from({ length: 6 }, (_, i) => ({ prompt: `Question ${i}:`, letter: 'aeiou'[i % 5]! }))
const quick = { chatTemplate: 'none', device: 'cpu', optimizer: { lr: 1e-3 } } as const

/** On a busy machine the server may be too slow for the end of a run: the rest is sent then. */
async function allSent(directory: string): Promise<void> {
  expect(await syncRun(directory, [mlflowLogger()], { wait: 120_000 })).toEqual([{ name: 'mlflow', left: undefined }])
}

test('a training: metrics, options, tags, samples and files', async () => {
  process.env.MLFLOW_EXPERIMENT_NAME = 'training'
  const output = join(temporaryDirectory(), 'my-run')
  const options = {
    ...quick,
    iterations: 3,
    rolloutBatchSize: 2,
    nSamplesPerPrompt: 4,
    maxNewTokens: 8,
    sampleEvery: 1,
  }
  const { metrics } = await grpo({
    ...options,
    model,
    data: rows,
    output,
    loggers: ['tensorboard', 'mlflow'],
    rewards: ({ response, row }) => [...response].filter(one => one === row.letter).length,
  })
  await allSent(output)
  const [run, ...more] = readBack<ReadRun[]>('mlflow', uri, 'training')
  expect(more).toEqual([])
  expect(run).toMatchObject({ name: 'my-run', status: 'FINISHED' })
  const view = await Run.read(output)
  expect(Object.keys(run!.metrics).sort()).toEqual([...view.metrics.keys()].sort())
  for (const [name, points] of view.metrics)
    expect(run!.metrics[name], name).toEqual(points.map(({ step, value }) => [step, value]))
  expect(run!.metrics['reward/mean']!.at(-1)![1]).toBe(metrics['reward/mean'])
  expect(run!.params).toMatchObject({ algorithm: 'grpo', 'optimizer.lr': '0.001', iterations: '3' })
  expect(run!.tags['whetstone.directory']).toBe(output)
  expect(run!.tags['whetstone.model.final_model']).toBe(join(output, 'final_model'))
  expect(run!.files['config.json']).toBe(readFileSync(join(output, 'config.json'), 'utf8'))
  const samples = Object.keys(run!.files).filter(name => name.startsWith('samples/'))
  expect(samples.length).toBeGreaterThanOrEqual(2)
  const { columns, data } = JSON.parse(run!.files[samples[0]!]!) as { columns: string[]; data: unknown[][] }
  expect(columns.slice(0, 4)).toEqual(['step', 'prompt', 'response', 'reward'])
  expect(data[0]![1]).toContain('Question')

  const board = readBack<{ scalars: Record<string, [number, number][]>; texts: Record<string, [number, string][]> }>(
    'tensorboard',
    join(output, 'logs'),
  )
  expect(Object.keys(board.scalars).sort()).toEqual([...view.metrics.keys()].sort())
  expect(board.scalars['reward/mean']!.map(([step]) => step)).toEqual(
    view.metrics.get('reward/mean')!.map(({ step }) => step),
  )
  expect(board.texts.config![0]![1]).toContain('"algorithm": "grpo"')
  expect(board.texts['samples/1']!.length).toBeGreaterThanOrEqual(2)
  expect(board.texts['samples/1']![0]![1]).toContain('Question')
})

test('NaN, infinities, long options and names that MLflow does not take', async () => {
  process.env.MLFLOW_EXPERIMENT_NAME = 'numbers'
  const directory = temporaryDirectory()
  const config = {
    text: 'é'.repeat(9000),
    'odd?': 'x',
    nested: { list: [1, 2] },
    ...Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`o${i}`, i])),
  }
  const run = await Run.create(directory, identity(config), { loggers: [mlflowLogger()] })
  run.metrics(1, { 'loss/train': Number.NaN, lr: Number.POSITIVE_INFINITY, 'reward/component/a?b': 1 })
  run.metrics(2, { 'loss/train': Number.NEGATIVE_INFINITY })
  for (let step = 3; step <= 700; step++) run.metrics(step, { 'loss/train': step, lr: 1 })
  await run.close('failed', new Error('no memory'))
  await allSent(directory)
  const [read] = readBack<ReadRun[]>('mlflow', uri, 'numbers')
  expect(read!.status).toBe('FAILED')
  expect(read!.metrics['loss/train']!.length).toBe(700)
  expect(read!.metrics['loss/train']!.slice(2).map(([step, value]) => [step, value])).toEqual(
    Array.from({ length: 698 }, (_, i) => [i + 3, i + 3]),
  )
  expect(read!.metrics['loss/train']![0]![1]).toBe('nan')
  // Its database has no infinities.
  expect(read!.metrics['loss/train']![1]![1]).toBeLessThan(-1e300)
  expect(read!.metrics.lr![0]![1]).toBeGreaterThan(1e300)
  expect(read!.metrics['reward/component/a_b']).toEqual([[1, 1]])
  expect(read!.params.text!.length).toBe(6000)
  expect(Object.keys(read!.params)).toHaveLength(153)
  expect(read!.tags['whetstone.error']).toBe('no memory')
})

test('killed in the middle and resumed: one run, each point once', async () => {
  process.env.MLFLOW_EXPERIMENT_NAME = 'killed'
  const folder = temporaryDirectory()
  const output = join(folder, 'run')
  const program = join(folder, 'train.mjs')
  const settings = {
    ...quick,
    model,
    output,
    epochs: 40,
    batchSize: 1,
    saveSteps: 17,
    loggers: ['mlflow'],
    data: rows.map(({ prompt, letter }) => ({ prompt, completion: letter })),
  }
  writeFileSync(
    program,
    `import { sft } from ${JSON.stringify(compiledRoom('.'))}
const run = sft({ ...${JSON.stringify(settings)}, resume: process.argv[2] === 'resume' })
for await (const event of run) if (event.kind === 'step') {
  console.log('step', event.step)
  // Slow enough to be killed in the middle, and for the logger to have sent some of it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
}
console.log('done')
`,
  )
  const first = startChild(program)
  await first.waitFor(/step 120\n/)
  await sleep(1500)
  await first.kill('SIGKILL')
  const second = startChild(program, ['resume'])
  const { code, output: printed } = await second.ended
  expect(code, printed).toBe(0)
  const [run, ...more] = readBack<ReadRun[]>('mlflow', uri, 'killed')
  expect(more).toEqual([])
  expect(run!.status).toBe('FINISHED')
  const steps = run!.metrics['loss/train']!.map(([step]) => step)
  expect(steps).toEqual(Array.from({ length: 240 }, (_, i) => i + 1))
})

test('what was logged without a server is sent by syncRun', async () => {
  process.env.MLFLOW_EXPERIMENT_NAME = 'synced'
  const output = temporaryDirectory()
  const data = rows.map(({ prompt, letter }) => ({ prompt, completion: letter }))
  await sft({ ...quick, model, data, epochs: 2, batchSize: 2, output, loggers: [] })
  expect(await syncRun(output, [mlflowLogger()])).toEqual([{ name: 'mlflow', left: undefined }])
  const [run] = readBack<ReadRun[]>('mlflow', uri, 'synced')
  expect(run!.metrics['loss/train']!.map(([step]) => step)).toEqual([1, 2, 3, 4, 5, 6])
})
