import { expect, test } from 'vitest'
import { LocalModel, newConfig } from '../../src/model/index.js'
import { keep, scope } from '../../src/tensor/index.js'

const config = newConfig('qwen2', {
  ...{ hidden: 16, intermediate: 32, layers: 1, heads: 2, kvHeads: 1, headDim: 8 },
  ...{ context: 32, tied: true, vocabSize: 40 },
})
const weights = async (model: LocalModel): Promise<number[]> => {
  const tensors = scope(() =>
    [...model.parts.weights.values()].map(tensor => keep(tensor.detach().to(undefined, 'float32'))),
  )
  const arrays = await Promise.all(tensors.map(tensor => tensor.data<'float32'>()))
  return arrays.flatMap(array => [...(array as Float32Array)])
}

test('an average is decay of its own numbers and the rest of the policy, in float32 whatever the policy is', async () => {
  const policy = await LocalModel.create(config, { role: 'language', seed: 1, dtype: 'bfloat16', version: 7 })
  const average = await LocalModel.create(config, { role: 'language', seed: 2 })
  const [own, theirs] = [await weights(average), await weights(policy)]
  await average.average(policy, { decay: 0.9 })
  expect(average.version).toBe(7)
  for (const [i, value] of (await weights(average)).entries())
    expect(value).toBeCloseTo(0.9 * own[i]! + 0.1 * theirs[i]!, 6)
  await expect(async () => average.average(policy, { decay: 2 })).rejects.toThrow(
    'decay is a share between 0 and 1, got 2',
  )
  policy.dispose()
  average.dispose()
})

test('of models with adapters, the adapters are averaged', async () => {
  const adapter = { rank: 2, alpha: 4, dropout: 0, targets: ['q_proj' as const], seed: 3 }
  const policy = await LocalModel.create(config, { role: 'language', seed: 1, adapter })
  const average = await LocalModel.create(config, { role: 'language', seed: 1, adapter: { ...adapter, seed: 4 } })
  const base = await weights(average)
  await average.average(policy, { decay: 0 })
  const matrices = async (model: LocalModel) =>
    Promise.all([...model.adapter!.tensors().values()].map(tensor => tensor.data<'float32'>()))
  expect(await matrices(average)).toEqual(await matrices(policy))
  expect(await weights(average)).toEqual(base)
  policy.dispose()
  average.dispose()
})
