/** A run whose samples are episodes: it trains, its metrics count turns, and its replay opens no session. */
import { join } from 'node:path'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { defineEnvironment } from '../../src/environment/index.js'
import { agentEnvironment, grpo } from '../../src/index.js'
import { replayRl } from '../../src/train/index.js'
import { temporaryDirectory } from '../support/files.js'
import { metricLines, modelDirectory } from '../support/rl.js'

test('trains, counts turns, and is replayed from its journal', async () => {
  const model = await modelDirectory(1)
  const output = join(temporaryDirectory(), 'run')
  let opened = 0
  const environment = defineEnvironment({
    name: 'two turns',
    version: '1',
    open: async ({ messages }) => {
      opened++
      return {
        start: async () => messages,
        step: async ({ turn, text }) =>
          turn === 1
            ? { kind: 'done', reward: text.length / 10 }
            : { kind: 'go-on', messages: [{ role: 'user', content: 'More.' }] },
      }
    },
  })
  const data = Array.from({ length: 4 }, (_, i) => ({ prompt: `Question ${i}:` }))
  const { outcome } = await grpo({
    model,
    data,
    environment,
    output,
    device: 'cpu',
    iterations: 2,
    rolloutBatchSize: 2,
    nSamplesPerPrompt: 2,
    maxNewTokens: 12,
    episode: { turnTokens: 4 },
    loggers: [],
    optimizer: { lr: 1e-3 },
  })
  expect(outcome).toBe('finished')
  expect(opened).toBe(8)
  const [line] = metricLines(output)
  expect(line).toMatchObject({ values: { 'episode/turns': 2, 'episode/calls': 0 } })
  const report = await replayRl(output)
  expect(report).toMatchObject({ iterations: 2, samples: 8, mismatches: [], notCompared: [] })
  expect(opened).toBe(8)
})

test('a run whose environment is broken ends, and goes on when it is mended: failed episodes start again', async () => {
  const model = await modelDirectory(1)
  const output = join(temporaryDirectory(), 'run')
  let opened: string[] = []
  let state: 'well' | 'ill' | 'dead' = 'ill'
  const environment = defineEnvironment({
    name: 'ill',
    version: '1',
    open: async ({ messages }, { sample, attempt }) => {
      opened.push(`${sample}/${attempt}`)
      if (state === 'dead' || (state === 'ill' && sample === 1)) throw new Error('no container')
      return {
        start: async () => messages,
        step: async ({ text }) => ({ kind: 'done', reward: sample + text.length / 10 }),
        score: async () => {
          if (state === 'ill') throw new Error('no judge')
          return 0
        },
      }
    },
  })
  const data = Array.from({ length: 2 }, (_, i) => ({ prompt: `Question ${i}:` }))
  const options = {
    ...{ model, data, environment, output, device: 'cpu', iterations: 2, rolloutBatchSize: 1, nSamplesPerPrompt: 2 },
    ...{ maxNewTokens: 4, episode: { retries: 0 }, loggers: [], optimizer: { lr: 1e-3 } },
  } as const
  await expect(grpo(options)).rejects.toThrow(/failed ones start again|no sample has a reward/)
  expect(opened.toSorted()).toEqual(['0/0', '1/0'])
  state = 'dead'
  opened = []
  await expect(grpo({ ...options, resume: true })).rejects.toThrow(/no episode ended: all 2 failed.*no container/)
  expect(opened.toSorted()).toEqual(['0/1', '1/1'])
  state = 'well'
  opened = []
  expect(await grpo({ ...options, resume: true })).toMatchObject({ outcome: 'finished' })
  expect(opened.toSorted()).toEqual(['0/0', '0/2', '1/0', '1/2'])
  expect(await replayRl(output)).toMatchObject({ iterations: 2, samples: 4, mismatches: [], notCompared: [] })
})

test('trains with agents that own the loop, and is replayed without them', async () => {
  const model = await modelDirectory(1)
  const output = join(temporaryDirectory(), 'run')
  let started = 0
  const environment = agentEnvironment({
    run: async ({ baseUrl: baseURL, apiKey, task, model: name }) => {
      started++
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: 'user', content: String(task.messages[0]!.content) },
      ]
      const ask = async () =>
        (await client.chat.completions.create({ model: name, messages, max_tokens: 4 })).choices[0]!.message
      messages.push(await ask(), { role: 'user', content: 'More.' })
      const last = await ask()
      return { reward: (last.content?.length ?? 0) / 10 }
    },
  })
  try {
    const data = Array.from({ length: 4 }, (_, i) => ({ prompt: `Question ${i}:` }))
    const { outcome } = await grpo({
      ...{ model, data, environment, output, device: 'cpu', iterations: 2, rolloutBatchSize: 2, nSamplesPerPrompt: 2 },
      ...{ maxNewTokens: 12, loggers: [], optimizer: { lr: 1e-3 } },
    })
    expect(outcome).toBe('finished')
    expect(started).toBe(8)
    expect(metricLines(output)[0]).toMatchObject({ values: { 'episode/turns': 2, 'episode/segments': 1 } })
    const report = await replayRl(output)
    expect(report).toMatchObject({ iterations: 2, samples: 8, mismatches: [], notCompared: [] })
    expect(started).toBe(8)
  } finally {
    await environment.close?.()
  }
})
