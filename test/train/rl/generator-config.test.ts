/** Which engine a run generates with, and that what importance weights need of it is known before the run. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { LogprobMeaning } from '../../../src/rollout/index.js'
import { checkGenerator } from '../../../src/train/checks/check-generator.js'
import { checkModels } from '../../../src/train/index.js'
import { checkImportance } from '../../../src/train/rl/engine-checks.js'
import { comparableLogprobs } from '../../../src/train/rl/engine-logprobs.js'
import { planRl } from '../../../src/train/rl/training-plan.js'
import { atEnd } from '../../support/at-end.js'
import type { EngineServer } from '../../support/doubles/engine-server.js'
import { SglangServer } from '../../support/doubles/sglang-server.js'
import { VllmServer } from '../../support/doubles/vllm-server.js'
import { fresh } from '../../support/files.js'
import { configOf, letterReward, modelDirectory, promptFile, quickly, start } from '../../support/rl.js'

const config = (options: Readonly<Record<string, unknown>>) =>
  configOf(quickly({ model: 'model', data: 'prompts.jsonl', rewards: 'reward.mjs', output: 'run', ...options }))

const generatorOf = (generator: Readonly<Record<string, unknown>>) => config({ generator }).generator

test("the seeds' engineType is answered with generator.type", () => {
  expect(config({}).generator.type).toBe('local')
  expect(() => config({ engineType: 'sglang' })).toThrow(/there is no option "engineType".*generator: { type }/)
})

test('a key or a program that is not there, and a server named twice, are errors before a model is read', async () => {
  const server = 'http://127.0.0.1:9'
  const output = fresh('run')
  const model = await modelDirectory(1, { layers: 1 })
  const given = quickly({ model, data: promptFile(2), rewards: letterReward, output })
  const refused = async (generator: Readonly<Record<string, unknown>>, expected: RegExp): Promise<void> => {
    await expect(start({ ...given, generator })).rejects.toThrow(expected)
    expect(existsSync(output)).toBe(false)
  }
  await refused(
    { type: 'vllm', urls: [server], apiKeyEnv: 'WHETSTONE_NO_SUCH_KEY' },
    /WHETSTONE_NO_SUCH_KEY is not set/,
  )
  await refused({ type: 'vllm', command: 'no-such-vllm' }, /no-such-vllm is not on the PATH/)
  expect(() => config({ generator: { type: 'vllm', urls: [server, `${server}/`] } })).toThrow(
    /generator\.urls: server 2 is named twice/,
  )
})

describe('what servers say is said before a model is read', () => {
  const keyVariable = 'WHETSTONE_TEST_CONFIG_KEY'
  const refused = async (
    generator: Readonly<Record<string, unknown>>,
    expected: { message: RegExp; remedy: RegExp },
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<void> => {
    const output = fresh('run')
    const model = await modelDirectory(1, { layers: 1 })
    const given = quickly({ model, data: promptFile(2), rewards: letterReward, output, generator, ...more })
    // A dry run says the same.
    await expect(checkModels(planRl(configOf(given)))).rejects.toThrow(expected.message)
    const run = start(given)
    await expect(run).rejects.toThrow(expected.message)
    await expect(run).rejects.toMatchObject({ remedy: expect.stringMatching(expected.remedy) })
    expect(existsSync(output)).toBe(false)
  }
  const served = async (server: EngineServer): Promise<string[]> => {
    await server.start()
    atEnd(() => server.stop())
    return [server.url]
  }

  test.each([
    { type: 'vllm', server: () => new VllmServer({ apiKey: 'the-right-one' }) },
    { type: 'sglang', server: () => new SglangServer({ apiKey: 'the-right-one' }) },
  ])('$type: a key that is wrong, or missing', async ({ type, server }) => {
    const urls = await served(server())
    process.env[keyVariable] = 'another'
    const remedy = /generator\.apiKeyEnv/
    await refused({ type, urls, apiKeyEnv: keyVariable }, { message: /401.*does not accept the API key/, remedy })
    await refused({ type, urls }, { message: /401.*No API key was sent/, remedy })
  })

  test('vLLM 0.32 for full training of a model with tied embeddings; not for an adapter, nor in another version', async () => {
    const urls = await served(new VllmServer())
    const tied = { message: /vLLM 0\.32\.0 cannot load .* tied/, remedy: /lora/ }
    await refused({ type: 'vllm', urls }, tied)
    await refused({ type: 'vllm', urls, weights: 'directory' }, tied, { lora: { rank: 2, alpha: 4 } })
    const config = generatorOf({ type: 'vllm', urls })
    await checkGenerator(config, { as: 'adapter', tiedEmbeddings: true })
    await checkGenerator(config, { as: 'checkpoint', tiedEmbeddings: false })
    // Experience without training gives no weights to servers.
    await checkGenerator(config)
    const older = generatorOf({ type: 'vllm', urls: await served(new VllmServer({ version: '0.27.1' })) })
    await checkGenerator(older, { as: 'checkpoint', tiedEmbeddings: true })
  })

  test('the same of a vLLM that the run would start', async () => {
    const folder = fresh('vllm')
    mkdirSync(folder)
    const program = (name: string, text: string): string => {
      const path = join(folder, name)
      writeFileSync(path, text, { mode: 0o755 })
      return path
    }
    const python = program('python3', '#!/bin/sh\necho 0.32.1+cpu\n')
    const command = program('vllm', `#!${python}\nimport vllm\n`)
    await refused({ type: 'vllm', command }, { message: /vLLM 0\.32\.1\+cpu cannot load/, remedy: /lora/ })
    const other = program('other', '#!/bin/sh\nexit 1\n')
    await checkGenerator(generatorOf({ type: 'vllm', command: other }), { as: 'checkpoint', tiedEmbeddings: true })
  })

  test('weights that cannot be changed', async () => {
    const urls = await served(new VllmServer({ without: ['dev-mode'] }))
    const config = generatorOf({ type: 'vllm', urls })
    await expect(checkGenerator(config, { as: 'adapter', tiedEmbeddings: false })).rejects.toThrow(
      /weights cannot be changed: .*VLLM_SERVER_DEV_MODE=1/,
    )
    await checkGenerator(config)
  })

  test('looking changes nothing on a server that another run has paused', async () => {
    const server = new VllmServer()
    const config = generatorOf({ type: 'vllm', urls: await served(server) })
    server.engine.pause('keep')
    await checkGenerator(config, { as: 'adapter', tiedEmbeddings: false })
    expect(server.engine.paused).toBe(true)
    expect(server.received.every(({ method }) => method === 'GET')).toBe(true)
  })
})

const engine = (logprobs: LogprobMeaning) => ({ capabilities: { logprobs: [logprobs] }, vocabSize: 100 }) as never

test.each<[LogprobMeaning, Readonly<Record<string, unknown>>, 'taken' | 'refused']>([
  ['processed', { temperature: 0.7 }, 'taken'],
  ['scaled', { temperature: 0.7 }, 'taken'],
  ['raw', { temperature: 0.7 }, 'refused'],
  ['raw', { temperature: 1 }, 'taken'],
  ['raw', { temperature: 1, minNewTokens: 3 }, 'taken'],
])('tisCap with %s log-probabilities under %j is %s', (meaning, sampling, expected) => {
  const check = (): void => checkImportance(config({ tisCap: 2, ...sampling }), engine(meaning))
  if (expected === 'taken') expect(check).not.toThrow()
  else expect(check).toThrow(/needs log-probabilities of the sampling distribution \(processed\)/)
  expect(() => checkImportance(config(sampling), engine(meaning))).not.toThrow()
})

test('raw log-probabilities are compared at temperature 1 alone', () => {
  const raw = Float32Array.of(-1)
  const processed = Float32Array.of(-2)
  expect(comparableLogprobs({ raw, processed }, 0.7)).toBe(processed)
  expect(comparableLogprobs({ raw }, 1)).toBe(raw)
  expect(comparableLogprobs({ raw }, 0.7)).toBeUndefined()
})
