/** Every command that has ranks, as it is typed: two ranks give what one process gives. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { askRun } from '../../src/run/index.js'
import { runWhetstone, startWhetstone } from '../support/child.js'
import { expectClose } from '../support/close.js'
import { weightsOfDirectory } from '../support/distributed.js'
import { jsonLines, jsonl, temporaryDirectory } from '../support/files.js'
import { quickly } from '../support/pipeline.js'
import { letterReward, metricLines, promptFile } from '../support/rl.js'
import { modelDirectory, rewardModelDirectory } from '../support/tiny-model.js'

/** Their processes are looked at in /proc. */
const onLinux = test.skipIf(process.platform !== 'linux')
const folder = temporaryDirectory()
const at = { cwd: folder, timeout: 100_000 }
const rows = jsonl(Array.from({ length: 9 }, (_, i) => ({ prompt: `Say ${i}`, response: 'word '.repeat(1 + (i % 4)) })))
let [model, judge] = ['', '']
beforeAll(async () => {
  model = await modelDirectory(1, { context: 96 })
  judge = await rewardModelDirectory(model)
})

type Fields = Readonly<Record<string, unknown>>
/** Numbers closely, everything else exactly. */
function expectAlike(found: unknown, expected: unknown, where = ''): void {
  if (typeof expected === 'number' && !Number.isInteger(expected))
    expectClose([found as number], [expected], 1e-5, where)
  else if (typeof expected !== 'object' || expected === null) expect(found, where).toEqual(expected)
  else {
    expect(Object.keys(found as Fields), where).toEqual(Object.keys(expected))
    for (const [key, value] of Object.entries(expected)) expectAlike((found as Fields)[key], value, `${where}.${key}`)
  }
}

async function run(args: readonly string[]): Promise<string> {
  const { code, output, stdout } = await runWhetstone([...args, '--device', 'cpu'], at)
  expect(code, output).toBe(0)
  return stdout
}

test.each<[string, () => string[]]>([
  ['generate', () => ['--model', model, '--input', rows, '--n', '2', '--max-new-tokens', '6', '--seed', '3']],
  ['score', () => ['--model', model, '--input', rows]],
  ['score', () => ['--model', judge, '--input', rows]],
  [
    'experience',
    () => [
      ...['--model', model, '--reference', model, '--data', rows, '--rewards', judge, '--max-new-tokens', '6'],
      ...['--advantage-estimator', 'group_norm', '--n-samples-per-prompt', '2', '--rollout-batch-size', '4'],
    ],
  ],
])('%s', async (verb, args) => {
  for (const [name, more] of Object.entries({ one: [], two: ['--devices', '2'] }))
    await run([verb, ...args(), '--output', `${name}.jsonl`, ...more])
  const [one, two] = ['one.jsonl', 'two.jsonl'].map(name => jsonLines(join(folder, name)))
  expect(one!.length).toBeGreaterThan(8)
  if (verb === 'generate') expect(two).toEqual(one)
  else expectAlike(two, one)
})

test('eval', async () => {
  const args = [
    'eval',
    '--model',
    model,
    '--reference',
    model,
    '--data',
    rows,
    '--reward',
    judge,
    '--max-new-tokens',
    '6',
  ]
  await run([...args, '--out', 'one.json', '--answers', 'one.answers.jsonl'])
  await run([...args, '--out', 'two.json', '--answers', 'two.answers.jsonl', '--devices', '2'])
  const [one, two] = ['one', 'two'].map(name => JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')))
  expectAlike(two, one)
  expect(one.model).toMatchObject({ rewards: { scored: 9 } })
  const answers = (name: string) => jsonLines<{ text: string }>(join(folder, `${name}.answers.jsonl`))
  expectAlike(answers('two'), answers('one'))
})

onLinux('serve answers the same, and ends with the name of a rank that is gone', async () => {
  const answers: unknown[] = []
  for (const more of [[], ['--devices', '2']]) {
    const child = startWhetstone(['serve', '--model', model, '--port', '0', '--device', 'cpu', ...more], at)
    const [, url] = await child.waitFor(/(http:\/\/127\.0\.0\.1:\d+)/)
    const ask = async (seed: number) => {
      const body = JSON.stringify({ model: 'model', prompt: 'Say', max_tokens: 6, seed, n: 2 })
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${url}/v1/completions`, { method: 'POST', headers, body })
      return ((await response.json()) as { choices: unknown }).choices
    }
    const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] }
    expect(data).toHaveLength(1)
    answers.push(await Promise.all([1, 2, 3].map(ask)))
    if (more.length === 0) await child.kill('SIGTERM')
    else {
      const { pid } = child.process
      const ranks = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
      process.kill(ranks.at(-1)!, 'SIGKILL')
      const { code, stderr, output } = await child.ended
      expect(code, output).toBe(1)
      expect(stderr).toMatch(/rank 1 \(.*, cpu, process \d+\) was ended by SIGKILL/)
    }
  }
  expect(answers[1]).toEqual(answers[0])
})

test('pipeline', async () => {
  for (const [name, more] of Object.entries({ one: {}, two: { devices: 2 } })) {
    const { baseModel, saveDir: _, ...options } = quickly({ device: 'cpu', ...more })
    writeFileSync(
      join(folder, `${name}.yaml`),
      stringify({ ...options, baseModel, saveDir: join(folder, `pipe-${name}`) }),
    )
    const { code, output } = await runWhetstone(['pipeline', '--config', `${name}.yaml`], at)
    expect(code, output).toBe(0)
  }
  const [one, two] = await Promise.all(
    ['one', 'two'].map(name => weightsOfDirectory(join(folder, `pipe-${name}`, 'ppo', 'final_model'))),
  )
  for (const [name, numbers] of two!) expectClose(numbers, one!.get(name)!, 1e-4, name)
})

const training = (output: string, more: object): string[] => {
  const options = {
    ...{
      model,
      data: promptFile(6),
      device: 'cpu',
      devices: 2,
      chatTemplate: 'none',
      iterations: 400,
      saveSteps: 1000,
    },
    ...{ rolloutBatchSize: 2, nSamplesPerPrompt: 4, maxNewTokens: 8, optimizer: { lr: 1e-4 }, output, ...more },
  }
  writeFileSync(join(folder, `${output}.yaml`), stringify(options))
  return ['grpo', '--config', `${output}.yaml`]
}

test('a run on two ranks is paused, talked to, changed, saved and stopped from the page', async () => {
  const child = startWhetstone(training('acted', { rewards: letterReward }), at)
  const directory = join(folder, 'acted')
  const ask = async (request: unknown): Promise<Fields> => {
    for await (const line of askRun(directory, request)) return line
    throw new Error(`the run ended before it answered: ${child.printed.output}`)
  }
  const steps = (): number => {
    try {
      return metricLines(directory).length
    } catch {
      return 0
    }
  }
  while (steps() < 2) await wait(50)
  await ask({ act: 'pause' })
  for (let state: unknown; state !== 'paused'; await wait(20)) state = (await ask({ ask: 'state' })).state
  const lines: Fields[] = []
  const chat = { ask: 'chat', messages: [{ role: 'user', content: 'Hello' }], temperature: 1, maxNewTokens: 5 }
  for await (const line of askRun(directory, chat)) lines.push(line)
  expect(JSON.stringify(lines)).not.toContain('"error"')
  expect(await ask({ act: 'set', option: 'optimizer.lr', value: 5e-5 })).toHaveProperty('from')
  await ask({ act: 'checkpoint' })
  await ask({ act: 'resume' })
  const before = steps()
  while (steps() < before + 2) await wait(50)
  await ask({ act: 'stop' })
  const { code, output } = await child.ended
  expect(code, output).toBe(0)
  const rates = metricLines(directory).map(({ values }) => values.lr)
  expect([rates[0], rates.at(-1)]).toEqual([1e-4, 5e-5])
})

onLinux('a rank that dies while the run waits for something else ends the run too', async () => {
  const slow = join(folder, 'slow.mjs')
  writeFileSync(slow, 'export default () => new Promise(resolve => setTimeout(resolve, 60_000, 1))\n')
  const child = startWhetstone(training('waiting', { rewards: slow }), at)
  const path = join(folder, 'waiting/journal')
  const made = async (): Promise<void> => {
    for (;;)
      try {
        if (jsonLines(join(path, '000000.jsonl')).length >= 8) return
        await wait(50)
      } catch {
        await wait(50)
      }
  }
  await Promise.race([made(), child.ended])
  const { pid } = child.process
  const ranks = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
  const rank = ranks.find(one => readFileSync(`/proc/${one}/cmdline`, 'utf8').includes('rank-process'))!
  const began = performance.now()
  process.kill(rank, 'SIGKILL')
  const { code, stderr, output } = await child.ended
  expect(performance.now() - began).toBeLessThan(20_000)
  expect(code, output).toBe(1)
  expect(stderr).toMatch(/rank 1 \(.*, cpu, process \d+\) was ended by SIGKILL/)
})
