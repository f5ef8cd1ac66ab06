import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { TokenModel } from '../../src/model/index.js'
import { scope } from '../../src/tensor/index.js'

// Small random models written by transformers, with the numbers it computes from them.
const fixtures = new URL('../fixtures/models/', import.meta.url)
const directory = (name: string): string => new URL(name, fixtures).pathname

interface Case {
  sequences: number[][]
  rows: { token_logprobs: number[]; entropy: number[]; last_logits: number[]; argmax: number[] }[]
  greedy_24: number[][]
  train: { losses: number[]; grad_norms_step0: Record<string, number>; global_grad_norm_step0: number }
  after_3_steps_last_logits: number[]
}
const readCase = <T>(name: string): T => JSON.parse(readFileSync(new URL(`${name}/case.json`, fixtures), 'utf8')) as T

function expectClose(actual: ArrayLike<number>, expected: readonly number[], tolerance = 1e-4): void {
  expect(actual.length).toBe(expected.length)
  for (const [i, value] of expected.entries()) expect(Math.abs(actual[i]! - value), `entry ${i}`).toBeLessThan(tolerance)
}

describe.each(['llama', 'llama31rope', 'mistral', 'qwen2', 'qwen3'])('%s', name => {
  const golden = readCase<Case>(name)
  const sequences = golden.sequences.map(ids => Int32Array.from(ids))

  test.each(['on', 'off'] as const)('log-probabilities and entropies, packing %s', async packing => {
    const model = await TokenModel.load(directory(name), { role: 'language' })
    const scores = await model.score(sequences, { entropy: true, packing })
    for (const [i, { logprobs, entropy }] of scores.entries()) {
      expectClose(logprobs, golden.rows[i]!.token_logprobs)
      expectClose(entropy!, golden.rows[i]!.entropy.slice(0, -1))
    }
    model.dispose()
  })

  test('three AdamW steps', async () => {
    const model = await TokenModel.load(directory(name), { role: 'language', optimizer: { weightDecay: 0.01 } })
    const tokens = sequences.reduce((sum, ids) => sum + ids.length - 1, 0)
    for (const [step, expected] of golden.train.losses.entries()) {
      let loss = 0
      await model.forwardBackward(sequences, outputs =>
        outputs.map(({ logprobs }) => {
          for (const value of logprobs) loss -= value / tokens
          return { logprobs: new Float32Array(logprobs.length).fill(-1 / tokens) }
        }),
      )
      expect(loss).toBeCloseTo(expected, 4)
      if (step === 0) {
        const norms = scope(() => new Map([...model.gradients()].map(([key, gradient]) => [key, gradient.norm().item()])))
        for (const [key, norm] of Object.entries(golden.train.grad_norms_step0)) expect(norms.get(key), key).toBeCloseTo(norm, 4)
      }
      const { norm } = await model.step({ lr: 1e-3 })
      if (step === 0) expect(norm).toBeCloseTo(golden.train.global_grad_norm_step0, 4)
    }
    model.dispose()
  })
})

test('reward scores', async () => {
  const golden = readCase<{ sequences: number[][]; scores: number[] }>('qwen2-reward')
  const model = await TokenModel.load(directory('qwen2-reward'), { role: 'reward' })
  const scores = await model.score(golden.sequences.map(ids => Int32Array.from(ids)))
  expectClose(scores.map(({ score }) => score), golden.scores)
})

test('LoRA adapter', async () => {
  const golden = readCase<{ sequence: number[]; token_logprobs: number[] }>('qwen2-lora')
  const model = await TokenModel.load(directory('qwen2'), { role: 'language', adapter: directory('qwen2-lora') })
  const [scored] = await model.score([Int32Array.from(golden.sequence)])
  expectClose(scored!.logprobs, golden.token_logprobs)
})
