/** Which engine a run generates with, and that what importance weights need of it is known before the run. */
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { LogprobMeaning } from '../../../src/rollout/index.js'
import { checkImportance, comparableLogprobs } from '../../../src/train/rl/engine-logprobs.js'
import { configOf, fresh, letterReward, modelDirectory, promptFile, quickly, start } from './world.js'

const config = (options: Readonly<Record<string, unknown>>) =>
  configOf(quickly({ model: 'model', data: 'prompts.jsonl', rewards: 'reward.mjs', output: 'run', ...options }))

test("the seeds' engineType is generator.type", () => {
  expect(config({}).generator.type).toBe('local')
  const chosen = config({ engineType: 'sglang', generator: { urls: ['http://127.0.0.1:30000'] } })
  expect(chosen.generator).toMatchObject({ type: 'sglang', urls: ['http://127.0.0.1:30000'] })
  expect(chosen).not.toHaveProperty('engineType')
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
  else expect(check).toThrow(/needs log-probabilities of the distribution that was sampled from \(processed\)/)
  expect(() => checkImportance(config(sampling), engine(meaning))).not.toThrow()
})

test('raw log-probabilities are compared at temperature 1 alone', () => {
  const raw = Float32Array.of(-1)
  const processed = Float32Array.of(-2)
  expect(comparableLogprobs({ raw, processed }, 0.7)).toBe(processed)
  expect(comparableLogprobs({ raw }, 1)).toBe(raw)
  expect(comparableLogprobs({ raw }, 0.7)).toBeUndefined()
})
