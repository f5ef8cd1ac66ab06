import { expect, test } from 'vitest'
import { families, LocalModel } from '../../src/model/index.js'
import { supervisedSequence } from '../../src/sequence/index.js'
import { expectClose } from '../support/close.js'
import { expectSameGradients, sequenceOf, sequences, takeGradients, weights } from '../support/models.js'
import { tinyConfig } from '../support/tiny-model.js'
import { describeFamily, gradientsOf } from './family-equivalence.js'

// The other families are in equivalence.slow.test.ts.
describeFamily(families[0]!)

test('the token budget does not change results, and groups stay together', async () => {
  const config = tinyConfig('qwen2')
  const given = sequences([3, 20, 7, 7, 15, 2, 9, 12])
  let expected: { scores: Float32Array[]; gradients: Awaited<ReturnType<typeof takeGradients>> } | undefined
  for (const tokenBudget of [4096, 40, 16, 1]) {
    const model = await LocalModel.create(config, { role: 'language', seed: 3, tokenBudget })
    const progress: number[] = []
    const scores = await model.score(given, { onProgress: done => progress.push(done) })
    expect(progress.at(-1)).toBe(given.length)
    const groups: number[][] = []
    await model.forwardBackward(
      given,
      (outputs, indices) => {
        groups.push([...indices])
        return outputs.map(({ logprobs }, k) => ({ logprobs: weights(indices[k]!, logprobs.length) }))
      },
      { groupSize: 2 },
    )
    for (const indices of groups) for (const i of indices) expect(indices).toContain(i ^ 1)
    expect(groups.flat().sort((a, b) => a - b)).toEqual(given.map((_, i) => i))
    const gradients = await takeGradients(model)
    if (expected) {
      for (const [i, { logprobs }] of scores.entries()) expectClose(logprobs, expected.scores[i]!, 1e-5)
      expectSameGradients(gradients, expected.gradients)
      expect(groups.length).toBeGreaterThan(1)
    }
    expected ??= { scores: scores.map(({ logprobs }) => logprobs), gradients }
    model.dispose()
  }
})

test('gradients add up over calls', async () => {
  const model = await LocalModel.create(tinyConfig('qwen3'), { role: 'language', seed: 3 })
  const given = sequences([5, 9, 4])
  await gradientsOf(model, given)
  const whole = await takeGradients(model)
  await gradientsOf(model, given.slice(0, 1))
  await gradientsOf(model, given.slice(1), { offset: 1 })
  expectSameGradients(await takeGradients(model), whole)
  model.dispose()
})

test('from: the same numbers, fewer of them', async () => {
  const model = await LocalModel.create(tinyConfig('mistral'), { role: 'language', seed: 3 })
  const given = sequences([5, 9, 4])
  const all = await model.score(given, { entropy: true })
  const late = await model.score(given, { entropy: true, from: [5, 3, 1] })
  for (const [i, from] of [5, 3, 1].entries()) {
    expectClose(late[i]!.logprobs, all[i]!.logprobs.slice(from - 1), 1e-6)
    expectClose(late[i]!.entropies!, all[i]!.entropies!.slice(from - 1), 1e-6)
  }
  // With gradients: those before `from` count as zero.
  await model.forwardBackward(
    given,
    (outputs, indices) =>
      outputs.map(({ logprobs }, k) => ({ logprobs: weights(indices[k]!, logprobs.length + 2).slice(2) })),
    { from: 3 },
  )
  const some = await takeGradients(model)
  await model.forwardBackward(given, (outputs, indices) =>
    outputs.map(({ logprobs }, k) => ({ logprobs: weights(indices[k]!, logprobs.length).fill(0, 0, 2) })),
  )
  expectSameGradients(some, await takeGradients(model))
  model.dispose()
})

test.each(['on', 'off'] as const)(
  'holes: what is not trained is left out of the outputs, and has no gradient, packing %s',
  async packing => {
    const model = await LocalModel.create(tinyConfig('qwen3'), { role: 'language', seed: 3 })
    const given = sequences([12, 9, 12, 6])
    const masks = given.map((ids, i) => Uint8Array.from(ids, (_, t) => Number(t > 2 && (t + i) % 4 !== 0)))
    const some = given.map((ids, i) => supervisedSequence({ ids, trained: masks[i]!, promptId: '', row: {} }))
    const options = { entropy: true, packing, from: 3 }
    const all = await model.score(given, options)
    const { from: _, ...rest } = options
    const gathered = (row: Float32Array, i: number) => row.filter((_, t) => masks[i]![t + 3] === 1)
    for (const [i, { logprobs, entropies }] of (await model.score(some, rest)).entries()) {
      expectClose(logprobs, gathered(all[i]!.logprobs, i), 1e-6)
      expectClose(entropies!, gathered(all[i]!.entropies!, i), 1e-6)
    }
    const scattered = (i: number, length: number, salt?: number): Float32Array => {
      let next = 0
      const values = weights(i, length, salt)
      return Float32Array.from({ length }, (_, t) => (masks[i]![t + 3] === 1 ? values[next++]! : 0))
    }
    await gradientsOf(model, some, rest)
    const holes = await takeGradients(model)
    await model.forwardBackward(
      given,
      (outputs, indices) =>
        outputs.map(({ logprobs: { length } }, k) => ({
          logprobs: scattered(indices[k]!, length),
          entropies: scattered(indices[k]!, length, 5),
        })),
      options,
    )
    expectSameGradients(holes, await takeGradients(model), 1e-6)
    model.dispose()
  },
)

test('work runs off the event loop', async () => {
  const config = tinyConfig('qwen2', { hidden: 128, intermediate: 512, headDim: 32, layers: 4, context: 512 })
  const model = await LocalModel.create(config, { role: 'language', seed: 3 })
  const given = sequences([500, 400, 300, 512])
  // Turns of the event loop while one batch is computed: a handful, if it were computed on this thread.
  const turnsDuring = async (work: Promise<unknown>): Promise<number> => {
    let turns = 0
    let done = false
    const finished = work.finally(() => {
      done = true
    })
    while (!done) {
      turns++
      await new Promise(resolve => setTimeout(resolve, 1))
    }
    await finished
    return turns
  }
  expect(await turnsDuring(model.score(given, { entropy: true }))).toBeGreaterThan(10)
  expect(await turnsDuring(gradientsOf(model, given))).toBeGreaterThan(20)
  model.dispose()
})

test('what cannot be scored is refused by name', async () => {
  const model = await LocalModel.create(tinyConfig('qwen2'), { role: 'language', seed: 3 })
  const good = sequenceOf(4, 1)
  await expect(model.score([good, new Int32Array(0)])).rejects.toThrow('sequence 1 is empty')
  await expect(model.score([sequenceOf(129, 1)])).rejects.toThrow(
    "sequence 0 has 129 tokens, the model's context is 128",
  )
  await expect(model.score([good, Int32Array.of(1, 37)])).rejects.toThrow('sequence 1 has token id 37')
  await expect(model.score([Int32Array.of(-1)])).rejects.toThrow('sequence 0 has token id -1')
  await expect(model.score([good], { temperature: 0 })).rejects.toThrow('a temperature is positive')
  await expect(model.score([good], { from: 5 })).rejects.toThrow('from[0] should be between 1 and 4, got 5')
  await expect(model.score([good, good], { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
  await expect(model.forwardBackward([good], () => [])).rejects.toThrow('1 outputs need as many gradients, got 0')
  await expect(model.forwardBackward([good], () => [{ logprobs: new Float32Array(2) }])).rejects.toThrow(
    'the gradient of sequence 0 has 2 entries, its output 3',
  )
  await expect(model.forwardBackward([good], () => [{ entropies: new Float32Array(3) }])).rejects.toThrow(
    'forwardBackward(..., { entropy: true })',
  )
  expect(await model.score([])).toEqual([])
  model.dispose()
})
