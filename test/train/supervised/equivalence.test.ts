/** What may not change a result does not: through a whole update, weights end where they end. */
import { describe, expect, test } from 'vitest'
import type { ConversationExample, LabelledExample, PreferenceExample } from '../../../src/data/index.js'
import { type LabelledLoss, losses, type PairLoss } from '../../../src/maths/index.js'
import type { LocalModel } from '../../../src/model/index.js'
import { promptSequence, supervisedSequence, withAnswer } from '../../../src/sequence/index.js'
import { ktoLoop } from '../../../src/train/preference/kto-loop.js'
import { preferenceLoop } from '../../../src/train/preference/loop.js'
import { ReferenceLogprobs } from '../../../src/train/preference/reference-logprobs.js'
import { labelledResponses, mismatchedResponses, pairResponses } from '../../../src/train/preference/responses.js'
import { rewardModelLoop } from '../../../src/train/reward-model/loop.js'
import { sftLoop } from '../../../src/train/sft/loop.js'
import { sequenceOf } from '../../support/models.js'
import { trainingOf, weightsOf } from '../../support/supervised.js'
import { type TinyModelOptions as ModelOptions, tinyModel } from '../../support/tiny-model.js'
import { tokenizer } from '../../support/tokenizers.js'

const { signal } = new AbortController()
const ranking: PairLoss = call =>
  losses['reward-model'].compute({ ...call, options: { margin: 0.1, centerCoef: 0.01 } })
const ktoLoss: LabelledLoss = call => losses.kto.compute({ ...call, options: { beta: 0.5 } })
const ids = (length: number, seed: number) => sequenceOf(length, seed, tokenizer.vocabSize)
const where = (i: number) => `rows.jsonl:${i + 1}`
const named = (i: number) => ({ promptId: `row${i}`, row: {} })
const lengths = [21, 5, 13, 34, 8, 17]

const conversations: ConversationExample[] = lengths.map((length, i) => ({
  sequence: supervisedSequence({
    ...named(i),
    ids: ids(length, i + 1),
    // Two turns of an assistant, so that what is not trained also lies between.
    trained: Uint8Array.from({ length }, (_, t) => Number(t > 0 && (t === 2 || t > length / 2))),
  }),
  where: where(i),
  truncated: false,
}))

const pairs: PreferenceExample[] = lengths.map((length, i) => {
  const prompt = promptSequence({ ...named(i), ids: ids(4, i + 50) })
  return {
    where: where(i),
    chosen: withAnswer(prompt, ids(length, i + 1)),
    rejected: withAnswer(prompt, ids(lengths[lengths.length - 1 - i]!, i + 100)),
    ...(i === 2 ? { margin: 0.5 } : {}),
  }
})

const labelled: LabelledExample[] = pairs.map(({ chosen, where }, i) => ({
  where,
  sequence: chosen,
  desirable: i % 3 !== 0,
}))

/** One update of each trainer on a model of its own; `packing` where a trainer has it. */
const updates = {
  async sft(options: ModelOptions, packing: 'on' | 'off' = 'on') {
    const model = await tinyModel('language', options)
    const { training, run } = await trainingOf(model, conversations)
    await sftLoop({ model, training, validation: undefined, packing, signal })
    await run.close('finished')
    return model
  },
  async 'reward model'(options: ModelOptions) {
    const model = await tinyModel('reward', options)
    const { training, run } = await trainingOf(model, pairs)
    await rewardModelLoop({ model, training, validation: undefined, loss: ranking, signal })
    await run.close('finished')
    return model
  },
  async dpo(options: ModelOptions) {
    const model = await tinyModel('language', options)
    const reference = await referenceOf(pairResponses(pairs))
    const { training, run } = await trainingOf(model, pairs)
    await preferenceLoop({
      model,
      reference,
      training,
      validation: undefined,
      loss: { loss: 'dpo', beta: 0.5 },
      signal,
    })
    await run.close('finished')
    return model
  },
  async kto(options: ModelOptions) {
    const model = await tinyModel('language', options)
    const reference = await referenceOf([...labelledResponses(labelled), ...mismatchedResponses(labelled, 128)])
    const { training, run } = await trainingOf(model, labelled)
    await ktoLoop({ model, reference, training, validation: undefined, loss: ktoLoss, maxLength: 128, signal })
    await run.close('finished')
    return model
  },
}

/** Another model's numbers, so that the policy is not at the reference and no term of a loss is zero. */
async function referenceOf(responses: ReturnType<typeof pairResponses>): Promise<ReferenceLogprobs> {
  const model = await tinyModel('language', { seed: 77 })
  const reference = new ReferenceLogprobs('another model')
  await reference.add(responses, sequences => model.score(sequences))
  return reference
}

async function farthest(a: LocalModel, b: LocalModel): Promise<number> {
  const [left, right] = [await weightsOf(a), await weightsOf(b)]
  let most = 0
  for (const [name, values] of left)
    for (const [i, value] of values.entries()) most = Math.max(most, Math.abs(value - right.get(name)![i]!))
  return most
}

const lora = { adapter: { rank: 2, alpha: 4, dropout: 0, targets: ['q_proj', 'v_proj'] as const, seed: 3 } }

describe.each(Object.entries(updates))('%s', (name, update) => {
  test('accumulated over small micro-batches, an update is that of the whole batch', async () => {
    const whole = await update({ tokenBudget: 4096 })
    const parts = await update({ tokenBudget: 40 })
    const before = await tinyModel(whole.role)
    expect(await farthest(whole, before)).toBeGreaterThan(1e-5)
    expect(await farthest(whole, parts)).toBeLessThan(2e-7)
  })

  test('the same with LoRA: the weights stay, the adapter moves as one', async () => {
    const exported = async (tokenBudget: number) => {
      const model = await update({ ...lora, tokenBudget })
      await model.mergeAdapter()
      return model
    }
    const whole = await exported(4096)
    const parts = await exported(40)
    const before = await tinyModel(whole.role)
    expect(await farthest(whole, before)).toBeGreaterThan(1e-7)
    expect(await farthest(whole, parts)).toBeLessThan(2e-7)
  })

  if (name === 'sft')
    test('packed and padded rows train the same weights', async () => {
      const packed = await updates.sft({ tokenBudget: 64 }, 'on')
      const padded = await updates.sft({ tokenBudget: 64 }, 'off')
      expect(await farthest(packed, padded)).toBeLessThan(2e-7)
    })
})
