import { test } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { expectHeld, heldMemory } from '../support/held-memory.js'
import { sequences } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

test('500 steps of training: tensors and bytes stay as they were', async () => {
  const model = await LocalModel.create(tinyConfig('qwen2', { layers: 1 }), {
    role: 'language',
    seed: 1,
    tokenBudget: 40,
  })
  const step = async (n: number) => {
    const batch = sequences([2 + (n % 9), 2 + (n % 13), 2 + (n % 5), 20])
    await model.score(batch, { entropy: true })
    await model.forwardBackward(
      batch,
      outputs => outputs.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -0.01), entropies: logprobs })),
      { entropy: true, packing: n % 3 === 0 ? 'off' : 'on' },
    )
    await model.step({ lr: 1e-3, clipNorm: 1 })
  }
  for (let n = 0; n < 20; n++) await step(n)
  const before = await heldMemory()
  for (let n = 20; n < 500; n++) await step(n)
  await expectHeld(before)
  model.dispose()
})
