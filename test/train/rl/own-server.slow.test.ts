/** GRPO whose samples come from our own rollout server, a process of its own that knows nothing of the training. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { openEngine } from '../../../src/rollout/index.js'
import { Journal } from '../../../src/run/index.js'
import { ModelServer } from '../../../src/serve/index.js'
import { replayRl } from '../../../src/train/rl/index.js'
import { weightsDirectoryOf } from '../../../src/train/rl/weight-sync.js'
import { startWhetstone } from '../../support/child.js'
import { fresh, written } from '../../support/files.js'
import { modelDirectory, promptFile } from '../../support/rl.js'
import { eventLines, expectEachOnce, margin, trainThrough } from '../../support/through-engine.js'

const keyVariable = 'WHETSTONE_TEST_ENGINE_KEY'
process.env[keyVariable] = 'a-key-of-the-test'

let model: string
/** What training and servers both see. */
const root = fresh('weights')
mkdirSync(root)
beforeAll(async () => {
  model = await modelDirectory(1)
})

interface Server {
  readonly port: number
  kill(): Promise<unknown>
}

async function startServer({ port = 0, flags = [] as string[], of = model } = {}): Promise<Server> {
  const given = ['serve', '--model', of, '--control', '--weights-root', root, '--port', String(port), ...flags]
  const child = startWhetstone(given, { env: { WHETSTONE_API_KEY: process.env[keyVariable]! } })
  const [, listens] = await child.waitFor(/at http:\/\/127\.0\.0\.1:(\d+)\/v1/)
  return { port: Number(listens), kill: () => child.kill() }
}

const generatorAt = (...servers: readonly { readonly port: number }[]) => ({
  type: 'vllm',
  urls: servers.map(({ port }) => `http://127.0.0.1:${port}`),
  apiKeyEnv: keyVariable,
  weightsDirectory: root,
})

/** Names of the weights that a server has. */
async function servedBy({ port }: Server): Promise<string[]> {
  const headers = { authorization: `Bearer ${process.env[keyVariable]}` }
  const answer = await fetch(`http://127.0.0.1:${port}/v1/models`, { headers })
  return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
}

const metricCount = (output: string): number => {
  const path = join(output, 'logs', 'metrics.jsonl')
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0
}

test('the reward rises as it does on the local engine, and the gap to the trainer is reported', async () => {
  const output = fresh('run')
  const server = await startServer()
  const local = await trainThrough({ model, generator: { type: 'local' } })
  const through = await trainThrough({ model, generator: generatorAt(server), output })
  await server.kill()
  expect(local.rise).toBeGreaterThan(margin)
  expect(through.rise).toBeGreaterThan(margin)
  for (const { values } of through.lines) {
    expect(values['gap/mean']).toBeLessThan(1e-4)
    expect(values['staleness/mean']).toBe(0)
  }
  await expectEachOnce(output)
  // Nothing of what was written for the server stays.
  expect(existsSync(weightsDirectoryOf({ output, generator: { weightsDirectory: root } }))).toBe(false)
}, 300_000)

test('a server killed and started anew in the middle costs time and nothing else', async () => {
  const output = fresh('run')
  let server = await startServer()
  const training = trainThrough({ model, generator: generatorAt(server), output })
  const killed: number[] = []
  for (const after of [3, 7]) {
    const some = expect.poll(() => metricCount(output), { timeout: 120_000, interval: 5 }).toBeGreaterThanOrEqual(after)
    await Promise.race([some, training])
    const { port } = server
    await server.kill()
    killed.push(metricCount(output))
    server = await startServer({ port })
  }
  const { rise, lines } = await training
  await server.kill()
  expect(killed.every(count => count < lines.length)).toBe(true)
  expect(rise).toBeGreaterThan(margin)
  for (const { values } of lines) expect(values['gap/mean']).toBeLessThan(1e-4)
  await expectEachOnce(output)
  const happened = (await eventLines(output)).map(({ what }) => what)
  expect(happened).toContain('drained')
  expect(happened).toContain('back')
}, 300_000)

test('adapters: the server gets them alone, by name', async () => {
  const output = fresh('run')
  const server = await startServer({ flags: ['--enable-lora'] })
  const { lines } = await trainThrough({
    model,
    generator: generatorAt(server),
    output,
    more: { lora: { rank: 8, alpha: 32 }, optimizer: { lr: 3e-2 }, iterations: 5 },
  })
  const served = await servedBy(server)
  await server.kill()
  // A small adapter of a random model learns little; what it learned is what was sampled from.
  for (const { values } of lines) expect(values['gap/mean']).toBeLessThan(1e-4)
  expect(lines.at(-1)!.values['kl/mean']).toBeGreaterThan(1e-3)
  expect(served).toContainEqual(expect.stringMatching(/^policy@/))
  await expectEachOnce(output, 5)
}, 300_000)

test('two servers; the next rollout is generated while the last is trained on and held-out prompts are answered', async () => {
  const output = fresh('run')
  const servers = await Promise.all([startServer(), startServer()])
  const { lines } = await trainThrough({
    model,
    generator: generatorAt(...servers),
    output,
    more: { maxStaleness: 1, tisCap: 2, iterations: 8, validationData: promptFile(4), evaluation: { every: 1 } },
  })
  for (const server of servers) await server.kill()
  const staleness = lines.flatMap(({ values }) => values['staleness/mean'] ?? [])
  expect(lines.filter(({ values }) => 'validation/reward' in values)).toHaveLength(9)
  // Four optimiser steps an iteration: at most one iteration old.
  expect(Math.max(...staleness)).toBeLessThanOrEqual(4)
  expect(Math.max(...staleness)).toBeGreaterThan(0)
  const queue = lines.flatMap(({ values }) => values['rollouts/ahead'] ?? [])
  expect(queue).toHaveLength(8)
  expect(queue.every(ready => ready === 0 || ready === 1)).toBe(true)
  // What was made while an update ran is not waited for.
  expect(lines.some(({ values }) => 'seconds/wait' in values && !('seconds/generation' in values))).toBe(true)
  await expectEachOnce(output, 8)
}, 300_000)

test('stopped while the next rollout is generated, and resumed: every sample is there once and trained on once', async () => {
  const output = fresh('run')
  const server = await startServer()
  const { lines } = await trainThrough({
    model,
    generator: generatorAt(server),
    output,
    more: { maxStaleness: 1, tisCap: 2, iterations: 5, validationData: promptFile(4), evaluation: { every: 2 } },
    stops: ['evaluating', 'generating', 'updating', 'updating'],
  })
  await server.kill()
  expect(lines.flatMap(({ values, step }) => ('reward/mean' in values ? [step] : []))).toEqual([1, 2, 3, 4, 5])
  expect(lines.flatMap(({ values, step }) => ('validation/reward' in values ? [step] : []))).toEqual([0, 2, 4, 5])
  for (const { values } of lines)
    if ('staleness/mean' in values) expect(values['staleness/mean']).toBeLessThanOrEqual(4)
  await expectEachOnce(output, 5)
}, 300_000)

test('a stop while the only server is away ends the run at once; with the server back it goes on', async () => {
  const output = fresh('run')
  let server = await startServer()
  const stop = new AbortController()
  const away = (async (): Promise<void> => {
    await expect.poll(() => metricCount(output), { timeout: 120_000, interval: 5 }).toBeGreaterThanOrEqual(1)
    const { port } = server
    await server.kill()
    // Long enough for whatever is under way to find that nobody answers.
    await new Promise(resolve => setTimeout(resolve, 2000))
    stop.abort(new Error('Ctrl-C'))
    const happened = async (): Promise<unknown[]> => (await eventLines(output)).map(({ kind }) => kind)
    await expect.poll(happened, { timeout: 30_000 }).toContain('stopped')
    server = await startServer({ port })
  })()
  await trainThrough({ model, generator: generatorAt(server), output, more: { iterations: 6 }, stops: [stop] })
  await away
  await server.kill()
  await expectEachOnce(output, 6)
}, 300_000)

test('an engine that sleeps while models train gets its weights when it wakes', async () => {
  const output = fresh('run')
  const server = await startServer()
  const { lines } = await trainThrough({
    model,
    generator: generatorAt(server),
    output,
    more: { enableEngineSleep: true, iterations: 5 },
  })
  await server.kill()
  for (const { values } of lines) {
    expect(values['gap/mean']).toBeLessThan(1e-4)
    expect(values['staleness/mean']).toBe(0)
  }
  await expectEachOnce(output, 5)
}, 300_000)

test('a server whose weights cannot be changed, or whose log-probabilities cannot be weighed, is refused before anything is generated', async () => {
  const opened = await openEngine(model)
  const { engine, tokenizer, weights } = opened
  const shared = { engine, tokenizer, name: 'model', port: 0 }
  const fixed = await ModelServer.start(shared)
  const changeable = await ModelServer.start({ ...shared, apiKey: process.env[keyVariable]!, control: { weights } })
  try {
    const generator = { type: 'vllm', urls: [`http://127.0.0.1:${fixed.port}`] }
    await expect(trainThrough({ model, generator })).rejects.toThrow(
      /weights cannot be changed: the server was started without --control/,
    )
    const more = { tisCap: 2, temperature: 0.7 }
    await expect(trainThrough({ model, generator: generatorAt(changeable), more })).rejects.toThrow(
      /tisCap: needs log-probabilities of the sampling distribution \(processed\); this engine reports raw/,
    )
  } finally {
    for (const server of [fixed, changeable]) await server.close({ graceMs: 0 })
    await opened.close()
  }
})

describe('episodes', () => {
  /** Three turns; every third episode is slow. */
  const environment = written(
    'environment.mjs',
    `export default { name: 'three turns', version: '1', open: async ({ messages }, { sample }) => ({
  start: async () => messages,
  step: async ({ turn }) => {
    await new Promise(resolve => setTimeout(resolve, sample % 3 === 0 ? 60 : 2))
    return turn === 2 ? { kind: 'done' } : { kind: 'go-on', messages: [{ role: 'user', content: 'More.' }] }
  },
}) }
`,
  )
  const more = { environment, chatTemplate: 'auto', episode: { turnTokens: 3 }, maxNewTokens: 12, iterations: 4 }
  const longer = modelDirectory(1, { context: 256 })

  /** Every episode ended once, was trained on once, and the run is replayed without a session. */
  async function expectEpisodes(output: string): Promise<void> {
    const journal = new Journal(join(output, 'journal'))
    const places = await journal.iterations()
    expect(places).toHaveLength(4)
    for (const iteration of places) {
      const records = (await journal.read(iteration)).map(({ record }) => record as Record<string, unknown>)
      const ended = records.flatMap(({ kind, of, promptId, sample }) =>
        kind === 'episode' ? [`${of} ${promptId} ${sample}`] : [],
      )
      expect(new Set(ended).size).toBe(64)
      expect(ended.filter(name => name.startsWith('finished '))).toHaveLength(64)
      const trained = records.filter(({ kind }) => kind === 'update').flatMap(({ places: of }) => of as number[])
      expect(trained.toSorted((a, b) => a - b)).toEqual(ended.map((_, place) => place))
    }
    expect(await replayRl(output)).toMatchObject({ mismatches: [], notCompared: [] })
  }

  test('over two servers, at most one iteration old, stopped and resumed', async () => {
    const output = fresh('run')
    const servers = await Promise.all([startServer({ of: await longer }), startServer({ of: await longer })])
    const { lines } = await trainThrough({
      model: await longer,
      generator: generatorAt(...servers),
      output,
      more: { ...more, maxStaleness: 1, tisCap: 2 },
      stops: ['generating', 'updating'],
    })
    for (const server of servers) await server.kill()
    const staleness = lines.flatMap(({ values }) => values['staleness/mean'] ?? [])
    expect(Math.max(...staleness)).toBeLessThanOrEqual(4)
    expect(Math.max(...staleness)).toBeGreaterThan(0)
    for (const { values } of lines) expect(values['episode/turns']).toBe(3)
    await expectEpisodes(output)
  }, 300_000)

  test('a server that is killed among their turns: they go on at the other', async () => {
    const output = fresh('run')
    const servers = await Promise.all([startServer({ of: await longer }), startServer({ of: await longer })])
    const training = trainThrough({ model: await longer, generator: generatorAt(...servers), output, more })
    await Promise.race([
      expect.poll(() => metricCount(output), { timeout: 120_000, interval: 5 }).toBeGreaterThanOrEqual(1),
      training,
    ])
    await servers[1]!.kill()
    const { lines } = await training
    await servers[0]!.kill()
    for (const { values } of lines) expect(values['gap/mean']).toBeLessThan(1e-4)
    await expectEpisodes(output)
  }, 300_000)
})
