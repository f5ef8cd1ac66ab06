/** A run whose samples are episodes: it trains, its metrics count turns, and its replay opens no session. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defineEnvironment } from '../../src/environment/index.js'
import { grpo } from '../../src/index.js'
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
