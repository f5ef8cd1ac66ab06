/** Models on a device: the numbers transformers recorded, in float32 and, through float32 copies, in bfloat16. */
import { describe, expect, test } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { device, onCuda } from '../support/device.js'
import { fixture, readCase } from '../support/models.js'

interface Case {
  sequences: number[][]
  rows: { token_logprobs: number[] }[]
  train: { losses: number[] }
}

// The CPU's float32 numbers are held to a tighter bound in golden.test.ts.
const dtypes = [
  ...(onCuda ? [{ dtype: 'float32' as const, allowed: 1e-3 }] : []),
  { dtype: 'bfloat16' as const, allowed: 0.1 },
]
const names = ['llama', 'llama31rope', 'mistral', 'olmo2', 'qwen2', 'qwen3', 'smollm3']

describe.each(names.flatMap(name => dtypes.map(given => ({ name, ...given }))))(
  '$name in $dtype',
  ({ name, dtype, allowed }) => {
    const { sequences, rows, train } = readCase<Case>(name)
    const given = sequences.map(ids => Int32Array.from(ids))
    const load = () =>
      LocalModel.load(fixture(name), { role: 'language', device, dtype, optimizer: { weightDecay: 0.01 } })

    test.each(['on', 'off'] as const)('log-probabilities, packing %s', async packing => {
      const model = await load()
      const scored = await model.score(given, { packing })
      const distances = scored.flatMap(({ logprobs }, i) =>
        Array.from(logprobs, (value, t) => Math.abs(value - rows[i]!.token_logprobs[t]!)),
      )
      expect(Math.max(...distances)).toBeLessThan(allowed)
      model.dispose()
    })

    test('the losses of three training steps', async () => {
      const model = await load()
      const tokens = given.reduce((sum, ids) => sum + ids.length - 1, 0)
      for (const [step, expected] of train.losses.entries()) {
        let loss = 0
        await model.forwardBackward(given, outputs =>
          outputs.map(({ logprobs }) => {
            for (const value of logprobs) loss -= value / tokens
            return { logprobs: new Float32Array(logprobs.length).fill(-1 / tokens) }
          }),
        )
        expect(Math.abs(loss - expected), `loss ${step}: ${loss} for ${expected}`).toBeLessThan(allowed)
        await model.step({ lr: 1e-3 })
      }
      model.dispose()
    })
  },
)
