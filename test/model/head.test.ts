import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fusedOps } from '../../src/kernels/index.js'
import { makeLanguageHead, planHead } from '../../src/model/head.js'
import { LocalModel } from '../../src/model/index.js'
import { linear, memoryUse, randn, scope, Tensor } from '../../src/tensor/index.js'
import { expectClose } from '../support/close.js'
import { nudge, sequenceOf, sequences, takeGradients, weights } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

const vocabSize = 23
const hiddenSize = 6

/** Both outputs and the gradients of a weighted sum of them, of a head given as a function. */
function evaluate(
  head: (hidden: Tensor, weight: Tensor, targets: Tensor) => readonly Tensor[],
  rows: number,
): { outputs: Float32Array[]; gradients: Float32Array[] } {
  return scope(() => {
    const values = (n: number, salt: number) => Float32Array.from({ length: n }, (_, i) => 2 * Math.sin(i * 1.7 + salt))
    const hidden = Tensor.from(values(rows * hiddenSize, 1), { shape: [rows, hiddenSize], requiresGrad: true })
    const weight = Tensor.from(values(vocabSize * hiddenSize, 2), {
      shape: [vocabSize, hiddenSize],
      requiresGrad: true,
    })
    const targets = Tensor.from(sequenceOf(rows, 3, vocabSize), { dtype: 'int64' })
    const outputs = head(hidden, weight, targets)
    outputs
      .map((output, i) => output.mul(Tensor.from(weights(i, rows))).sum())
      .reduce((a, b) => a.add(b))
      .backward()
    return {
      outputs: outputs.map(output => output.detach().toArray<'float32'>()),
      gradients: [hidden, weight].map(leaf => leaf.grad!.toArray<'float32'>()),
    }
  })
}

describe('the head in chunks is plain log_softmax', () => {
  test.each(['logprobs', 'both'] as const)('%s', outputs => {
    const entropy = outputs === 'both'
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 8 }),
        fc.boolean(),
        fc.constantFrom(1, 0.7, 1.6),
        (rows, rowsPerChunk, keep, temperature) => {
          const plan = {
            rowsPerChunk,
            chunks: Math.ceil(rows / rowsPerChunk),
            keep,
            entropy,
            scaled: temperature !== 1,
            trainWeight: true,
          }
          const head = makeLanguageHead(plan, fusedOps({ device: 'cpu', dtype: 'float32' }))
          const chunked = evaluate((h, w, t) => head(h, w, t, 1 / temperature), rows)
          const plain = evaluate((h, w, t) => {
            const logp = linear(h, w).div(temperature).logSoftmax(-1)
            const logprobs = logp.gather(1, t.unsqueeze(1)).squeeze(1)
            return entropy ? [logprobs, logp.exp().mul(logp).sum([1]).neg()] : [logprobs]
          }, rows)
          for (const [i, output] of plain.outputs.entries()) expectClose(chunked.outputs[i]!, output, 1e-5)
          for (const [i, gradient] of plain.gradients.entries()) expectClose(chunked.gradients[i]!, gradient, 1e-4)
        },
      ),
      { numRuns: 40 },
    )
  })

  test('a large vocabulary is planned in several chunks, none of which is kept', () => {
    const plan = planHead(1000, 32_768, {
      training: true,
      device: 'cpu',
      scaled: false,
      trainWeight: true,
      entropy: false,
    })
    expect(plan.chunks).toBeGreaterThan(4)
    expect(plan.keep).toBe(false)
  })
})

test('gradients of log-probabilities and entropies are those of finite differences, with a temperature', async () => {
  const model = await LocalModel.create(tinyConfig('qwen3', { layers: 1 }), { role: 'language', seed: 5 })
  const given = sequences([6, 9])
  const options = { entropy: true, temperature: 1.4 }
  const loss = async (): Promise<number> => {
    let sum = 0
    for (const [i, { logprobs, entropies }] of (await model.score(given, options)).entries()) {
      for (const [t, value] of logprobs.entries()) sum += weights(i, logprobs.length)[t]! * value
      for (const [t, value] of entropies!.entries()) sum += weights(i, logprobs.length, 5)[t]! * value
    }
    return sum
  }
  await model.forwardBackward(
    given,
    (outputs, indices) =>
      outputs.map(({ logprobs }, k) => ({
        logprobs: weights(indices[k]!, logprobs.length),
        entropies: weights(indices[k]!, logprobs.length, 5),
      })),
    options,
  )
  const gradients = await takeGradients(model)
  // Whole tensors, so that an index means the same entry in the weight and in its gradient.
  for (const name of ['model.embed_tokens.weight', 'model.norm.weight', 'model.layers.0.mlp.down_proj.weight']) {
    for (const index of [0, 3, 7, 11]) {
      const by = 5e-3
      nudge(model, name, index, by)
      const above = await loss()
      nudge(model, name, index, -2 * by)
      const below = await loss()
      nudge(model, name, index, by)
      expect(gradients.get(name)![index], `${name}[${index}]`).toBeCloseTo((above - below) / (2 * by), 2)
    }
  }
  model.dispose()
})

test('a temperature divides the logits', async () => {
  const model = await LocalModel.create(tinyConfig('llama'), { role: 'language', seed: 5 })
  const ids = sequenceOf(8, 1)
  const [logits] = await model.nextLogits([ids])
  const next = Int32Array.of(...ids, 4)
  const [scored] = await model.score([next], { temperature: 2.5, from: 8, entropy: true })
  const scaled = logits!.map(value => value / 2.5)
  const normalizer = Math.log(scaled.reduce((sum, value) => sum + Math.exp(value), 0))
  expect(scored!.logprobs[0]).toBeCloseTo(scaled[4]! - normalizer, 4)
  const entropy = scaled.reduce((sum, value) => sum - Math.exp(value - normalizer) * (value - normalizer), 0)
  expect(scored!.entropies![0]).toBeCloseTo(entropy, 4)
  model.dispose()
})

test('nothing to predict gives empty arrays', async () => {
  const model = await LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 5 })
  const [one, two] = await model.score([sequenceOf(1, 1), sequenceOf(4, 2)], { from: [1, 4], entropy: true })
  for (const { logprobs, entropies } of [one!, two!]) expect([logprobs.length, entropies!.length]).toEqual([0, 0])
  model.dispose()
})

test('with a vocabulary of 32k, memory does not grow with tokens times vocabulary', async () => {
  const config = tinyConfig('qwen2', { vocabSize: 32_768, context: 2048, layers: 1 })
  const model = await LocalModel.create(config, { role: 'language', seed: 5 })
  const tokens = 2048
  const given = Array.from({ length: 4 }, (_, i) => sequenceOf(tokens / 4, i, 32_768))
  const allLogits = tokens * 32_768 * 4
  const peakOf = async (work: () => Promise<unknown>): Promise<number> => {
    const { bytes } = memoryUse('cpu', { resetPeak: true })
    await work()
    return memoryUse().peakBytes - bytes
  }
  const scoring = await peakOf(() => model.score(given, { entropy: true }))
  const training = await peakOf(() =>
    model.forwardBackward(
      given,
      (outputs, indices) =>
        outputs.map(({ logprobs }, k) => ({
          logprobs: weights(indices[k]!, logprobs.length),
          entropies: weights(indices[k]!, logprobs.length, 5),
        })),
      { entropy: true },
    ),
  )
  expect(scoring).toBeLessThan(allLogits / 3)
  expect(training).toBeLessThan(allLogits / 3)
  // The measure itself sees such tensors.
  const plain = await peakOf(async () => scope(() => void randn([tokens, 32_768]).logSoftmax(-1)))
  expect(plain).toBeGreaterThan(allLogits)
  model.dispose()
})
