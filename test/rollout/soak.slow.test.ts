import { expect, test } from 'vitest'
import { LocalEngine, type Outcome } from '../../src/rollout/index.js'
import { memoryUse } from '../../src/tensor/index.js'
import { loadModel, numbers, randomIds } from '../support/generation.js'

test('500 random requests, many of them cancelled, leave no slot, block or tensor behind', async () => {
  const model = await loadModel()
  const before = memoryUse().liveTensors
  const engine = new LocalEngine(model, { eosIds: [2], maxSequences: 24, cacheBytes: 400_000, tokenBudget: 200 })
  const idle = memoryUse().liveTensors
  const next = numbers(99)
  const outcomes: Outcome[] = []
  let expected = 0
  for (let i = 0; i < 500; i++) {
    const n = 1 + next(4)
    expected += n
    const stream = engine.generate([
      {
        id: `${i}`,
        promptIds: randomIds(next, next(30) === 0 ? 255 + next(3) : 1 + next(80)),
        n,
        sampling: {
          seed: i,
          maxNewTokens: 1 + next(40),
          temperature: [0, 0.5, 1, 2][next(4)]!,
          topK: next(2) ? -1 : 1 + next(400),
          topP: next(2) ? 1 : (1 + next(100)) / 100,
          minP: next(2) ? 0 : next(100) / 100,
          minNewTokens: next(3) ? 0 : next(30),
          ignoreEos: next(4) === 0,
          stopIds: next(3) ? [] : [3 + next(300)],
          forbiddenIds: next(3) ? [] : [3 + next(300), 3 + next(300)],
          ...(next(5) === 0 ? { topLogprobs: next(5) } : {}),
          ...(next(6) === 0 ? { promptLogprobs: next(3) } : {}),
          ...(next(5) === 0 ? { firstTemperature: next(20) } : {}),
          ...(next(10) === 0 ? { truncatePromptTokens: { limit: 1 + next(20), side: 'left' as const } } : {}),
        },
      },
    ])
    void (async () => {
      for await (const outcome of stream) outcomes.push(outcome)
    })()
    if (next(10) === 0) await new Promise(resolve => setImmediate(resolve))
    if (next(8) === 0) engine.abort(`${next(i + 1)}`)
    if (next(150) === 0) {
      await engine.sleep()
      await engine.wake()
    }
  }
  while (outcomes.length < expected) await new Promise(resolve => setTimeout(resolve, 5))
  const kinds = new Set(outcomes.map(outcome => (outcome.kind === 'completed' ? outcome.finishReason : outcome.kind)))
  expect(kinds).toEqual(new Set(['stop', 'length', 'abort', 'rejected']))
  expect(outcomes).toHaveLength(expected)
  expect(engine.counts).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0 })
  expect(engine.counts.preemptions).toBeGreaterThan(0)
  expect(memoryUse().liveTensors).toBe(idle)
  await engine.close()
  expect(memoryUse().liveTensors).toBe(before)
  model.dispose()
})
