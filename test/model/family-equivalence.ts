/** What every family of models keeps to: batches of any form give the numbers of single sequences. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  LocalModel,
  type ModelInput,
  type ScoreOptions,
  type TextFamily,
  type TrainOptions,
} from '../../src/model/index.js'
import { expectClose } from '../support/close.js'
import {
  expectSameGradients,
  farthest,
  raggedLengths,
  sequenceOf,
  sequences,
  takeGradients,
  weights,
} from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'

/** Trains on both outputs, with weights that depend on the sequence and the token alone. */
export async function gradientsOf(
  model: LocalModel<'language'>,
  given: readonly ModelInput[],
  options: TrainOptions & { offset?: number } = {},
) {
  const { offset = 0, ...rest } = options
  await model.forwardBackward(
    given,
    (outputs, indices) =>
      outputs.map(({ logprobs }, k) => ({
        logprobs: weights(indices[k]! + offset, logprobs.length),
        entropies: weights(indices[k]! + offset, logprobs.length, 5),
      })),
    { entropy: true, ...rest },
  )
}

export function describeFamily(family: TextFamily): void {
  describe(family, () => {
    test('sequences that begin alike are what each is by itself, values and gradients', async () => {
      const model = await LocalModel.create(tinyConfig(family, { kvHeads: 2, layers: 2 }), {
        role: 'language',
        seed: 3,
      })
      const lengths = fc.array(fc.tuple(fc.integer({ min: 2, max: 9 }), fc.integer({ min: 1, max: 7 })), {
        minLength: 2,
        maxLength: 7,
      })
      await fc.assert(
        fc.asyncProperty(lengths, fc.integer({ min: 1, max: 3 }), async (wanted, prompts) => {
          // Samples of a few prompts, some of them cut to another length: only those with all of it in common share rows.
          const from = wanted.map(([prompt], i) => (i % 3 === 2 ? prompt : 2 + (i % prompts) * 3))
          const given = wanted.map(([, response], i) => {
            const prompt = sequenceOf(16, i % prompts).subarray(0, from[i]!)
            return Int32Array.from([...prompt, ...sequenceOf(response, 100 + i)])
          })
          const together = await model.score(given, { from, entropy: true })
          for (const [i, ids] of given.entries()) {
            const [single] = await model.score([ids], { from: from[i]!, entropy: true })
            expectClose(together[i]!.logprobs, single!.logprobs, 1e-5)
            expectClose(together[i]!.entropies!, single!.entropies!, 1e-5)
          }
          await gradientsOf(model, given, { from })
          const shared = await takeGradients(model)
          for (const [i, ids] of given.entries()) await gradientsOf(model, [ids], { from: from[i]!, offset: i })
          expectSameGradients(shared, await takeGradients(model), 1e-4)
        }),
        { numRuns: 12 },
      )
      model.dispose()
    })

    test('packed = padded = one by one, values and gradients, whatever the shape', async () => {
      const shapes = fc.record({
        kvHeads: fc.constantFrom(1, 2, 4),
        layers: fc.integer({ min: 1, max: 3 }),
        tied: fc.boolean(),
        headDim: fc.constantFrom(4, 8, 10),
      })
      const temperature = 1.3
      await fc.assert(
        fc.asyncProperty(shapes, raggedLengths, fc.nat(1000), async (shape, lengths, seed) => {
          const config = tinyConfig(family, shape)
          const model = await LocalModel.create(config, { role: 'language', seed })
          const exact = await LocalModel.create(config, { role: 'language', seed, dtype: 'float64' })
          await exact.copyFrom(model)
          const given = sequences(lengths)
          const options: ScoreOptions = { entropy: true, temperature }
          const packed = await model.score(given, options)
          const padded = await model.score(given, { ...options, packing: 'off' })
          for (const [i, ids] of given.entries()) {
            const [single] = await model.score([ids], options)
            for (const other of [packed[i]!, padded[i]!]) {
              expectClose(other.logprobs, single!.logprobs, 1e-5)
              expectClose(other.entropies!, single!.entropies!, 1e-5)
            }
          }
          const oneByOne = async (model: LocalModel<'language'>) => {
            for (const [i, ids] of given.entries()) await gradientsOf(model, [ids], { offset: i, temperature })
            return takeGradients(model)
          }
          const [expected, truth] = [await oneByOne(model), await oneByOne(exact)]
          // Some models of random weights are so badly conditioned that float32 alone is off by more than a millionth.
          const rounding = 8 * farthest(expected, truth)
          for (const packing of ['on', 'off'] as const) {
            await gradientsOf(model, given, { packing, temperature })
            expectSameGradients(await takeGradients(model), expected, Math.max(1e-5, rounding))
            await gradientsOf(exact, given, { packing, temperature })
            expectSameGradients(await takeGradients(exact), truth, 1e-10)
          }
          model.dispose()
          exact.dispose()
        }),
        { numRuns: 12 },
      )
    })

    test('a neighbour in the same pack cannot be seen: changing it changes no bit', async () => {
      const model = await LocalModel.create(tinyConfig(family), { role: 'language', seed: 1 })
      const [first, second, third] = sequences([9, 14, 5]) as [Int32Array, Int32Array, Int32Array]
      for (const packing of ['on', 'off'] as const) {
        const before = await model.score([first, second, third], { entropy: true, packing })
        const after = await model.score([first, sequenceOf(14, 99), third], { entropy: true, packing })
        expect(after[0]).toEqual(before[0])
        expect(after[2]).toEqual(before[2])
        expect(after[1]).not.toEqual(before[1])
      }
      // Nor by gradients: a loss on the others alone is the same whoever sits between them.
      const only = async (middle: Int32Array) => {
        await model.forwardBackward([first, middle, third], (outputs, indices) =>
          outputs.map(({ logprobs }, k) => ({
            logprobs: indices[k] === 1 ? new Float32Array(logprobs.length) : weights(indices[k]!, logprobs.length),
          })),
        )
        return takeGradients(model)
      }
      expectSameGradients(await only(sequenceOf(14, 99)), await only(second), 1e-6)
      model.dispose()
    })

    test('recomputing activations changes no gradient', async () => {
      const config = tinyConfig(family)
      const given = sequences([7, 12, 12, 3])
      const [kept, recomputed] = await Promise.all(
        [false, true].map(async recompute => {
          const model = await LocalModel.create(config, { role: 'language', seed: 4, gradientCheckpointing: recompute })
          await gradientsOf(model, given)
          await gradientsOf(model, given, { packing: 'off' })
          const gradients = await takeGradients(model)
          model.dispose()
          return gradients
        }),
      )
      expectSameGradients(recomputed!, kept!, 1e-6)
    })
  })
}
