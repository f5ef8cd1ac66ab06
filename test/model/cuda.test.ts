import { describe, expect, test } from 'vitest'
import { TokenModel } from '../../src/model/index.js'
import { backend, memoryUse, synchronize } from '../../src/tensor/index.js'
import { expectClose, fixture, readCase, sequences, tinyConfig } from './models.js'

describe.skipIf(!backend().cuda.available)('on CUDA', () => {
  test('offload gives the memory back, reload the same numbers', async () => {
    const config = tinyConfig('qwen2', { vocabSize: 32_768 })
    const model = await TokenModel.create(config, { role: 'language', seed: 1, device: 'cuda' })
    const given = sequences([6, 11, 4])
    const before = await model.score(given)
    const checksum = await model.checksum()
    await synchronize()
    const { bytes } = memoryUse('cuda')
    model.offload()
    expect(memoryUse('cuda').bytes).toBeLessThan(bytes - 32_768 * 16 * 2 + 1)
    expect(await model.checksum()).toBe(checksum)
    model.reload()
    expect(await model.score(given)).toEqual(before)
    model.dispose()
  })

  test("float32 agrees with transformers; bfloat16 trains through float32 copies and follows float32's losses", async () => {
    interface Case {
      sequences: number[][]
      rows: { token_logprobs: number[] }[]
      train: { losses: number[] }
    }
    for (const name of ['llama31rope', 'mistral', 'qwen2', 'qwen3']) {
      const golden = readCase<Case>(name)
      const given = golden.sequences.map(ids => Int32Array.from(ids))
      const exact = await TokenModel.load(fixture(name), { role: 'language', device: 'cuda', dtype: 'float32' })
      for (const [i, { logprobs }] of (await exact.score(given)).entries())
        expectClose(logprobs, golden.rows[i]!.token_logprobs, 1e-3)
      exact.dispose()
      const model = await TokenModel.load(fixture(name), { role: 'language', device: 'cuda' })
      const tokens = given.reduce((sum, ids) => sum + ids.length - 1, 0)
      for (const expected of golden.train.losses) {
        let loss = 0
        await model.forwardBackward(given, outputs =>
          outputs.map(({ logprobs }) => {
            for (const value of logprobs) loss -= value / tokens
            return { logprobs: new Float32Array(logprobs.length).fill(-1 / tokens) }
          }),
        )
        await model.step({ lr: 1e-3 })
        expect(Math.abs(loss - expected)).toBeLessThan(0.05)
      }
      expect([...model.optimizerState().keys()].some(key => key.endsWith('.master'))).toBe(true)
      model.dispose()
    }
  })
})
