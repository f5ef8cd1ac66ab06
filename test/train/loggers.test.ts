/** The option `loggers` of the trainings and the pipeline; docs/trackers.md has the files. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { main } from '../../src/cli/main.js'
import { defineLogger, type RunEvent, sft } from '../../src/index.js'
import { createRlhfPipeline } from '../../src/pipeline/index.js'
import { fileLayer, loadDefinitions, replaySupervised, trainings } from '../../src/train/index.js'
import { blocksOf } from '../docs/blocks.js'
import { jsonLines, jsonl, temporaryDirectory } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'

const model = await modelDirectory(1)
const rows = Array.from({ length: 4 }, (_, i) => ({ prompt: `Question ${i}:`, completion: 'abc' }))
const quick = { chatTemplate: 'none', device: 'cpu', batchSize: 2, epochs: 1 } as const
const block = (start: string): string => blocksOf('docs/trackers.md').find(({ code }) => code.startsWith(start))!.code

/** The files of the page, as a reader would save them. */
function pageFiles(): { folder: string; losses: string } {
  const folder = temporaryDirectory()
  const losses = join(folder, 'losses.csv')
  writeFileSync(join(folder, 'my-logger.ts'), block('// my-logger.ts').replace("'losses.csv'", JSON.stringify(losses)))
  return { folder, losses }
}

test('a file of a user is loaded, told everything, recorded, and may change in a resumed run', async () => {
  const { folder, losses } = pageFiles()
  const { loggers, ...page } = parse(block('# sft.yaml')) as Record<string, unknown>
  expect(loggers).toEqual(['tensorboard', 'mlflow', './my-logger.ts'])
  const output = join(folder, 'run')
  const config = { ...page, ...quick, model, data: jsonl(rows), output, loggers: ['./my-logger.ts'] }
  const file = join(folder, 'sft.json')
  writeFileSync(file, JSON.stringify(config))
  expect(await main(['sft', '--config', file])).toBe(0)
  const lines = readFileSync(losses, 'utf8').trim().split('\n')
  expect(lines[0]).toBe('# run')
  expect(lines.slice(1).map(line => line.split(',')[0])).toEqual(['1', '2'])
  const recorded = JSON.parse(readFileSync(join(output, 'config.json'), 'utf8')) as Record<
    string,
    Record<string, unknown>
  >
  expect(recorded.config!.loggers).toEqual([join(folder, 'my-logger.ts')])
  expect(Object.keys(recorded.inputs!.loggers as object)).toEqual(['my-logger.ts'])
  // No event files: TensorBoard was not asked for.
  expect(readdirSync(join(output, 'logs')).filter(name => name.startsWith('events.out'))).toEqual([])
  expect(await replaySupervised(output)).toMatchObject({ batches: 2, mismatches: [], notCompared: [] })

  writeFileSync(join(folder, 'my-logger.ts'), `${readFileSync(join(folder, 'my-logger.ts'), 'utf8')}\n// changed\n`)
  expect(
    await main(['sft', '--config', file, '--resume', '--set', 'epochs=1', '--set', 'loggers=["tensorboard"]']),
  ).toBe(0)
  expect(readdirSync(join(output, 'logs')).filter(name => name.startsWith('events.out'))).toHaveLength(1)
})

test('the logger for Weights & Biases gives its SDK the run, every step and the end', async () => {
  const folder = temporaryDirectory()
  const calls = join(folder, 'calls.jsonl')
  cpSync(new URL('../../examples/loggers/wandb.ts', import.meta.url), join(folder, 'wandb.ts'))
  const sdk = join(folder, 'node_modules/@wandb/sdk')
  mkdirSync(sdk, { recursive: true })
  writeFileSync(join(sdk, 'package.json'), JSON.stringify({ name: '@wandb/sdk', type: 'module', main: 'index.js' }))
  writeFileSync(
    join(sdk, 'index.js'),
    `import { appendFileSync } from 'node:fs'
const called = (...call) => appendFileSync(${JSON.stringify(calls)}, JSON.stringify(call) + '\\n')
export default {
  init: async options => (called('init', options), { id: options.id }),
  log: (data, step) => called('log', data, step),
  finish: async code => called('finish', code),
}
`,
  )
  const output = join(folder, 'run')
  const config = { ...quick, model, data: jsonl(rows), output, loggers: ['./wandb.ts'] }
  const file = join(folder, 'sft.json')
  writeFileSync(file, JSON.stringify(config))
  expect(await main(['sft', '--config', file])).toBe(0)
  const [init, ...rest] = jsonLines<[string, ...unknown[]]>(calls)
  expect(init).toMatchObject(['init', { name: 'run', project: 'whetstone', job_type: 'sft', config: { batchSize: 2 } }])
  expect(rest.at(-1)).toEqual(['finish', 0])
  const logged = rest.slice(0, -1)
  expect(logged.map(([name, , step]) => `${name} ${step}`)).toEqual(['log 1', 'log 2'])
  expect(logged[0]![1]).toMatchObject({ 'loss/train': expect.any(Number), _step: 1 })
})

test('objects in code, one that fails too: the run ends well and says so once', async () => {
  const steps: number[] = []
  const events: RunEvent[] = []
  const run = sft({
    ...quick,
    model,
    data: rows,
    loggers: [
      { metrics: entries => void steps.push(...entries.map(({ step }) => step)) },
      defineLogger({ name: 'broken', metrics: () => Promise.reject(new Error('no disk')) }),
    ],
  })
  for await (const event of run) events.push(event)
  const { directory, outcome } = await run
  expect([outcome, steps]).toEqual(['finished', [1, 2]])
  const warnings = events.flatMap(event => (event.kind === 'warning' ? [event.message] : []))
  expect(warnings.at(-1)).toBe(
    `logger broken: not everything was sent (metrics: no disk). To send it: whetstone runs sync ${directory}`,
  )
  expect(warnings.length).toBeLessThanOrEqual(2)
  const { config } = JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8')) as {
    config: { loggers: { name: string; source: string }[] }
  }
  expect(config.loggers.map(({ name }) => name)).toEqual(['logger', 'broken'])
  expect(config.loggers[1]!.source).toContain('no disk')
})

test('what is wrong with loggers is found before the run', async () => {
  const { folder } = pageFiles()
  writeFileSync(join(folder, 'none.ts'), 'export default 3\n')
  const resolve = async (loggers: unknown) =>
    trainings.sft.resolve(
      await loadDefinitions([fileLayer(join(folder, 'sft.yaml'), { model, data: 'd', output: 'o', loggers })]),
    )
  await expect(resolve(['./none.ts'])).rejects.toThrow(
    'none.ts: expected a default export of defineLogger, got a value of type number',
  )
  await expect(resolve(['./gone.ts'])).rejects.toThrow('there is no such file')
  await expect(resolve(['wandb'])).rejects.toThrow(
    /^.*loggers\.0: expected tensorboard, mlflow, a file such as \.\/logger\.ts, .*; examples\/loggers\/wandb\.ts is one for W&B$/,
  )
  await expect(resolve('mlflow')).rejects.toThrow('loggers: expected a list')
  const { MLFLOW_TRACKING_URI: before } = process.env
  delete process.env.MLFLOW_TRACKING_URI
  try {
    const run = sft({ ...quick, model, data: rows, loggers: ['mlflow'] })
    await expect(Promise.resolve(run)).rejects.toThrow('MLFLOW_TRACKING_URI')
  } finally {
    if (before !== undefined) process.env.MLFLOW_TRACKING_URI = before
  }
})

test('loggers of the pipeline are those of its stages', async () => {
  const { folder, losses } = pageFiles()
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data', 'rows.jsonl'), rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  const file = join(folder, 'pipeline.yaml')
  const options = {
    baseModel: model,
    saveDir: 'out',
    sftDataPath: 'data/rows.jsonl',
    device: 'cpu',
    chatTemplate: 'none',
    validationShare: 0.3,
    sftEpochs: 1,
    maxLength: 32,
    samplePrompts: ['a'],
  }
  writeFileSync(file, JSON.stringify({ ...options, loggers: ['./my-logger.ts'] }))
  const pipeline = await createRlhfPipeline(file)
  const { outcome } = await pipeline.runSft()
  expect(outcome).toBe('finished')
  expect(readFileSync(losses, 'utf8')).toMatch(/^# sft\n0,\n1,/)
})
