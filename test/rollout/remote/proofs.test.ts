/** A server is believed to have the weights of a proof where rounding explains the difference of its numbers, and not otherwise. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { explainedDifference, type WeightsProof } from '../../../src/rollout/index.js'
import { explainedByNoise } from '../../../src/rollout/remote/proof-check.js'
import { writeToyAdapter, writeToyCheckpoint } from '../../support/doubles/toy-checkpoint.js'
import { adapted, toyLogprobs, toyWeights } from '../../support/doubles/toy-model.js'
import { temporaryDirectory } from '../../support/files.js'
import { kinds, world } from '../../support/remote.js'

const ids = Int32Array.from({ length: 48 }, (_, i) => 3 + ((i * 71) % 300))
const proofOf = (version: number): WeightsProof => ({ ids, logprobs: toyLogprobs(ids, toyWeights(version)) })
const adapterProof = (version: number): WeightsProof => ({
  ids,
  logprobs: toyLogprobs(ids, adapted(toyWeights(0), version)),
})
const update = (version: number) => ({ version, directory: writeToyCheckpoint(version), proof: proofOf(version) })

describe.each(kinds)('$name', kind => {
  test('other base weights under an adapter: refused, although log-probabilities differ by 0.02 only', async () => {
    const { generator, server } = await world(kind)
    server.engine.drift = 0.04
    const given = generator.updateWeights({ version: 1, adapter: writeToyAdapter(1), proof: adapterProof(1) })
    await expect(given).rejects.toThrow(/other log-probabilities \(mean difference 0\.0[12]\d*.*at most 0\.0010\)/)
    await expect(given).rejects.toMatchObject({ remedy: expect.stringContaining('the directory that `model` names') })
  })

  test('float32 numbers within 1e-3 are the same weights; a later proof is held to the first', async () => {
    const { generator, server } = await world(kind)
    server.engine.drift = 1e-3
    await generator.updateWeights(update(1))
    expect(generator.agreement).toMatchObject({ limit: 1e-3 })
    expect(generator.agreement!.difference).toBeGreaterThan(3e-4)
    server.engine.drift = 4e-3
    await expect(generator.updateWeights(update(2))).rejects.toThrow(/other log-probabilities/)
  })

  test('a server that differs from itself as much as from the trainer computes in few bits', async () => {
    const { generator, server } = await world(kind)
    server.engine.rounding = 0.02
    await generator.updateWeights(update(1))
    expect(generator.agreement!.limit).toBeGreaterThan(0.02)
    server.engine.drift = 0.6
    await expect(generator.updateWeights(update(2))).rejects.toThrow(/other log-probabilities/)
  })

  test('few bits that always round alike: the server says its dtype, or the trainer has the same', async () => {
    const { generator, server } = await world(kind)
    server.engine.drift = 0.04
    await expect(generator.updateWeights(update(1))).rejects.toThrow(/other log-probabilities/)
    server.engine.dtype = 'bfloat16'
    await generator.updateWeights(update(2))
    server.engine.dtype = 'auto'
    await generator.updateWeights({ ...update(3), proof: { ...proofOf(3), dtype: 'bfloat16' } })
    expect(generator.agreement!.difference).toBeGreaterThan(0.01)
  })

  test('numbers that are noise are nobody’s weights', async () => {
    const { generator, server } = await world(kind)
    server.engine.rounding = 4
    await expect(generator.updateWeights(update(1))).rejects.toThrow(/other log-probabilities/)
  })

  test('a limit that was given counts alone', async () => {
    const { generator, server } = await world(kind, { proofTolerance: 0.1 })
    server.engine.drift = 0.1
    await generator.updateWeights(update(1))
    expect(generator.agreement).toMatchObject({ limit: 0.1 })
  })
})

test('what rounding explains grows with the bits that are missing and with the spread, and is never below float32’s', () => {
  const wide = Float32Array.of(-1, -7)
  const flat = Float32Array.of(-7.5, -7.501)
  expect(explainedDifference('float32', wide)).toBe(1e-3)
  expect(explainedDifference('float16', wide)).toBeCloseTo(8 * 3 * 2 ** -11)
  expect(explainedDifference('bfloat16', wide)).toBeCloseTo(8 * 3 * 2 ** -8)
  expect(explainedDifference('fp8', wide)).toBeCloseTo(8 * 3 * 2 ** -4)
  // A model that has learned nothing gives all tokens the same: other weights are seen in small differences.
  expect(explainedDifference('bfloat16', flat)).toBe(1e-3)
  expect(explainedByNoise(0.0116, wide)).toBeCloseTo(0.0928)
  expect(explainedByNoise(5, wide)).toBeCloseTo(32 * 3 * 2 ** -8)
})

describe('vLLM 0.32 and tied embeddings', () => {
  const modelDirectory = (tied: boolean): string => {
    const directory = temporaryDirectory()
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'config.json'), JSON.stringify({ tie_word_embeddings: tied }))
    return directory
  }

  test('a checkpoint is refused before the server is told of it; an adapter is not', async () => {
    const { generator, server } = await world(kinds[0]!, { modelDirectory: modelDirectory(true) })
    const refused = generator.updateWeights(update(0))
    await expect(refused).rejects.toThrow(
      /vLLM 0\.32\.0 cannot load the weights of this model: its embeddings are tied/,
    )
    await expect(refused).rejects.toMatchObject({ remedy: expect.stringContaining('lora') })
    expect(server.count('/collective_rpc')).toBe(0)
    await generator.updateWeights({ version: 1, adapter: writeToyAdapter(1), proof: adapterProof(1) })
  })

  test('SGLang loads such a model, and is asked to', async () => {
    const { generator } = await world(kinds[2]!, { modelDirectory: modelDirectory(true) })
    await expect(generator.updateWeights(update(1))).rejects.toThrow(/safetensors/)
  })
})
