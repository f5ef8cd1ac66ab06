/** Layers over a float32 stream with deferred norms are the layers they stand for: scores, gradients, adapters, checkpoints. */
import { describe, expect, test } from 'vitest'
import { deferredNormComposed, deferredOps } from '../../src/kernels/index.js'
import { type LoadOptions, LocalModel } from '../../src/model/index.js'
import { expectClose } from '../support/close.js'
import { expectSameGradients, sequences, takeGradients, weights } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

const given = sequences([7, 16, 3, 12])
const adapter = { rank: 4, alpha: 8, dropout: 0.3, targets: ['q_proj', 'o_proj', 'up_proj'] as const, seed: 3 }
type Options = Partial<LoadOptions<'language'>>

async function pair(family: 'qwen2' | 'qwen3' | 'llama', options: Options) {
  const create = () =>
    LocalModel.create(tinyConfig(family), { role: 'language', seed: 1, dtype: 'float32', ...options })
  const [plain, deferred] = [await create(), await create()]
  const ops = deferredOps(deferredNormComposed('float32'))
  deferred.parts.deferred = { many: ops, few: ops }
  return { plain, deferred }
}

describe.each([
  ['all weights', {}],
  ['activations recomputed', { gradientCheckpointing: true }],
  ['an adapter with dropout', { adapter }],
  ['an adapter, activations recomputed', { adapter, gradientCheckpointing: true }],
] as [string, Options][])('%s', (_, options) => {
  test.each(['qwen2', 'qwen3', 'llama'] as const)('%s', async family => {
    const { plain, deferred } = await pair(family, options)
    for (let step = 0; step < 3; step++) {
      const [expected, found] = [await plain.score(given), await deferred.score(given)]
      for (const [i, { logprobs }] of expected.entries()) expectClose(found[i]!.logprobs, logprobs, 1e-4)
      const gradients = []
      for (const model of [plain, deferred]) {
        await model.forwardBackward(given, (outputs, indices) =>
          outputs.map(({ logprobs }, k) => ({ logprobs: weights(indices[k]!, logprobs.length) })),
        )
        gradients.push(await takeGradients(model))
      }
      expectSameGradients(gradients[1]!, gradients[0]!, 1e-4)
      expect(gradients[0]!.size).toBeGreaterThan(0)
      for (const model of [plain, deferred]) {
        await model.forwardBackward(given, outputs =>
          outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-0.01) })),
        )
        await model.step({ lr: 1e-2 })
      }
    }
    for (const model of [plain, deferred]) model.dispose()
  })
})

test('where there are no kernels for it, a float32 residual is refused; of float32 weights it is what there is', async () => {
  const create = (dtype: 'bfloat16' | 'float32') =>
    LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 1, dtype, residualDtype: 'float32' })
  await expect(create('bfloat16')).rejects.toThrow('residualDtype float32 beside bfloat16 weights on cpu')
  const model = await create('float32')
  expect(model.parts.deferred).toBeUndefined()
  model.dispose()
})
