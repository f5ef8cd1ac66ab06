/** Equivalences through a whole update: what must not matter does not. */
import { expect, test } from 'vitest'
import type { Experience } from '../../../src/experience/index.js'
import { highEntropyMask, objective, tokenTotals } from '../../../src/maths/index.js'
import { LocalModel } from '../../../src/model/index.js'
import { firstTrained, supervisedSequence } from '../../../src/sequence/index.js'
import { planUpdates } from '../../../src/train/rl/plan.js'
import { type PolicyUpdateOptions, updateCritic, updatePolicy } from '../../../src/train/rl/update.js'
import { answered } from '../../support/answered.js'
import { modelDirectory } from '../../support/rl.js'
import { tokenizer } from '../../support/tokenizers.js'

const directory = await modelDirectory(9)

/** Samples of several lengths, with advantages and an old policy near the one that is trained. */
async function experiences(): Promise<Experience[]> {
  const model = await LocalModel.load(directory, { role: 'language' })
  const made = await Promise.all(
    [3, 9, 5, 7, 4, 6].map(async (length, i) => {
      const promptIds = Int32Array.from({ length: 3 + i }, (_, t) => (7 * i + 3 * t) % tokenizer.vocabSize)
      const responseIds = Int32Array.from({ length }, (_, t) => (11 * i + 5 * t + 1) % tokenizer.vocabSize)
      const sequence = answered(promptIds, responseIds, { promptId: `${i}` })
      const [scored] = await model.score([sequence])
      const wave = (scale: number) => Float64Array.from({ length }, (_, t) => scale * Math.sin(i + 2 * t))
      return {
        sequence,
        sample: 0,
        temperature: 1,
        logprobs: scored!.logprobs.map((value, t) => value + 0.1 * Math.sin(t + i)),
        refLogprobs: scored!.logprobs.map((value, t) => value - 0.05 * Math.cos(t + i)),
        values: Float32Array.from(wave(0.3)),
        returns: wave(1),
        advantages: wave(0.8),
        engineLogprobs: {},
        entropies: undefined,
      } as unknown as Experience
    }),
  )
  model.dispose()
  return made
}
const rollout = await experiences()

const rates = { lr: 1e-2, betas: [0.9, 0.999], eps: 1e-3, weightDecay: 0, clipNorm: 1 } as const
const options: Omit<PolicyUpdateOptions, 'actor' | 'experiences'> = {
  objective: { loss: 'ppo', klCoef: 0.1, entropyCoef: 0.01 },
  ptx: undefined,
  sampling: { temperature: 1, minNewTokens: 0 },
  rates,
  packing: 'on',
  targetKl: undefined,
}

/** Weights after one update of a model loaded anew. */
async function updated(
  settings: Parameters<typeof LocalModel.load>[1] = {},
  given: Partial<PolicyUpdateOptions> = {},
): Promise<{ weights: Float32Array; loss: number; step: boolean }> {
  const actor = (await LocalModel.load(directory, { role: 'language', ...settings })) as LocalModel<'language'>
  try {
    const { loss, step } = await updatePolicy({ actor, experiences: rollout, ...options, ...given })
    const arrays = await Promise.all([...actor.parts.weights.values()].map(tensor => tensor.data<'float32'>()))
    return {
      weights: Float32Array.from(arrays.flatMap(array => [...(array as Float32Array)])),
      loss,
      step: step !== undefined,
    }
  } finally {
    actor.dispose()
  }
}

function farthest(a: Float32Array, b: Float32Array): number {
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0)
}

const whole = await updated()

test('a batch in parts is the whole batch', async () => {
  const parts = await updated({ tokenBudget: 20 })
  expect(farthest(parts.weights, whole.weights)).toBeLessThan(2e-6)
  expect(parts.loss).toBeCloseTo(whole.loss, 6)
})

test('packed is padded', async () => {
  const padded = await updated({}, { packing: 'off' })
  expect(farthest(padded.weights, whole.weights)).toBeLessThan(2e-6)
})

test('gradient checkpointing changes memory and no number', async () => {
  const checkpointed = await updated({ gradientCheckpointing: true })
  expect(farthest(checkpointed.weights, whole.weights)).toBeLessThan(2e-6)
})

test('the order of a batch does not matter', async () => {
  const turned = await updated({}, { experiences: [...rollout].reverse() })
  expect(farthest(turned.weights, whole.weights)).toBeLessThan(2e-6)
  expect(turned.loss).toBeCloseTo(whole.loss, 6)
})

test('tokens of highest entropy: the mask of a scored rollout, and the same from the step itself', async () => {
  const highEntropyTokenRatio = 0.4
  const scoring = (await LocalModel.load(directory, { role: 'language' })) as LocalModel<'language'>
  const scored = await Promise.all(
    rollout.map(async one => {
      const [{ entropies } = {}] = await scoring.score([one.sequence], { entropy: true })
      return { ...one, entropies, lossMask: highEntropyMask(entropies!, highEntropyTokenRatio) }
    }),
  )
  scoring.dispose()
  const objective = { ...options.objective, highEntropyTokenRatio }
  const [byMask, byStep] = [await updated({}, { experiences: scored, objective }), await updated({}, { objective })]
  expect(farthest(byMask.weights, byStep.weights)).toBeLessThan(2e-6)
  expect(byMask.loss).toBeCloseTo(byStep.loss, 6)
  expect(farthest(byMask.weights, whole.weights)).toBeGreaterThan(1e-4)
})

test('tokens in the middle that are not trained are read, and are in no loss, mean or gradient', async () => {
  // The second token of each response is the result of a tool.
  const holed = rollout.map(one => {
    const first = firstTrained(one.sequence)
    const trained = one.sequence.trained.with(first + 1, 0)
    const without = <T extends Float32Array | Float64Array>(row: T) => row.filter((_, t) => t !== 1) as T
    return {
      ...one,
      sequence: { ...one.sequence, trained },
      logprobs: without(one.logprobs!),
      refLogprobs: without(one.refLogprobs!),
      advantages: without(one.advantages as Float64Array),
    }
  })
  const found = await updated({}, { experiences: holed })
  const actor = (await LocalModel.load(directory, { role: 'language' })) as LocalModel<'language'>
  const totals = tokenTotals(holed.map(({ advantages }) => advantages.length))
  let loss = 0
  await actor.forwardBackward(
    rollout.map(({ sequence }) => sequence.ids),
    (outputs, indices) => {
      const samples = outputs.map(({ logprobs, entropies }, k) => {
        const { advantages, refLogprobs, logprobs: oldLogprobs } = holed[indices[k]!]!
        const gathered = [logprobs, entropies!].map(row => row.filter((_, t) => t !== 1))
        return { logprobs: gathered[0]!, entropies: gathered[1]!, advantages, refLogprobs, oldLogprobs }
      })
      const result = objective({ samples, totals, options: options.objective })
      loss += result.value
      const scattered = (row: Float64Array) => Float32Array.of(row[0]!, 0, ...row.subarray(1))
      return result.gradients.map(({ logprobs, entropies }) => ({
        logprobs: scattered(logprobs),
        entropies: scattered(entropies!),
      }))
    },
    { from: rollout.map(({ sequence }) => firstTrained(sequence)), entropy: true },
  )
  await actor.step(rates)
  const arrays = await Promise.all([...actor.parts.weights.values()].map(tensor => tensor.data<'float32'>()))
  actor.dispose()
  expect(found.loss).toBeCloseTo(loss, 9)
  expect(
    farthest(found.weights, Float32Array.from(arrays.flatMap(array => [...(array as Float32Array)]))),
  ).toBeLessThan(1e-7)
  expect(farthest(found.weights, whole.weights)).toBeGreaterThan(1e-4)
})

test('an update that would move too far is not made', async () => {
  const before = await updated({}, { targetKl: 1e-9 })
  expect(before.step).toBe(false)
  const fresh = (await LocalModel.load(directory, { role: 'language' })) as LocalModel<'language'>
  const arrays = await Promise.all([...fresh.parts.weights.values()].map(tensor => tensor.data<'float32'>()))
  expect(farthest(before.weights, Float32Array.from(arrays.flatMap(array => [...(array as Float32Array)])))).toBe(0)
  fresh.dispose()
})

test('supervised rows mixed in move the weights, and their loss is part of the loss', async () => {
  const ids = Int32Array.of(1, 2, 3, 4)
  const examples = [
    { sequence: supervisedSequence({ ids, trained: Uint8Array.of(0, 0, 1, 1), promptId: 'a', row: {} }) },
  ]
  const mixed = await updated({}, { ptx: { examples, coef: 0.5 } })
  expect(mixed.loss).toBeGreaterThan(whole.loss)
  expect(farthest(mixed.weights, whole.weights)).toBeGreaterThan(1e-4)
})

test("a critic's batch in parts is the whole batch", async () => {
  const values = await Promise.all(
    [{}, { tokenBudget: 20 }].map(async settings => {
      const critic = (await LocalModel.load(directory, { role: 'value', ...settings })) as LocalModel<'value'>
      try {
        await updateCritic({
          critic,
          experiences: rollout,
          valueClip: 0.2,
          aggregation: 'seq-mean-token-mean',
          maxNewTokens: 9,
          rates,
          packing: 'on',
        })
        const [head] = await Promise.all([critic.parts.weights.get('score.weight')!.data<'float32'>()])
        return head as Float32Array
      } finally {
        critic.dispose()
      }
    }),
  )
  expect(farthest(values[0]!, values[1]!)).toBeLessThan(2e-6)
})

test('every pass sees every sample once, in an order of its own', () => {
  const plan = planUpdates({
    samples: 10,
    trainBatchSize: 4,
    updateEpochs: 2,
    seed: 1,
    iteration: 3,
    models: ['critic', 'policy'],
  })
  expect(plan.map(({ model, epoch, places }) => `${model} ${epoch} ${places.length}`)).toEqual([
    ...['critic 0 4', 'critic 0 4', 'critic 0 2', 'critic 1 4', 'critic 1 4', 'critic 1 2'],
    ...['policy 0 4', 'policy 0 4', 'policy 0 2', 'policy 1 4', 'policy 1 4', 'policy 1 2'],
  ])
  const order = (model: string, epoch: number) =>
    plan.filter(one => one.model === model && one.epoch === epoch).flatMap(({ places }) => places)
  for (const model of ['critic', 'policy'])
    for (const epoch of [0, 1])
      expect(order(model, epoch).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(order('policy', 0)).not.toEqual(order('policy', 1))
  expect(order('policy', 0)).toEqual(order('critic', 0))
})

test('a number that is not finite stops before the weights change, and names its sample', async () => {
  const broken = rollout.map((one, i) => (i === 2 ? { ...one, advantages: one.advantages.map(() => 1e300) } : one))
  await expect(updated({}, { experiences: broken })).rejects.toThrow(
    /prompt 2, sample 0: the gradient .* is not finite; the weights were not changed/,
  )
})
