import type { ExampleSet, PreferenceExample } from '../../data/index.js'
import {
  mergePreferenceStatistics,
  type PreferenceLossOptions,
  type PreferencePair,
  type PreferenceStatistics,
  preferenceLoss,
} from '../../maths/index.js'
import type { TokenModel } from '../../model/index.js'
import { namingRows } from '../run/errors.js'
import { untilStepped } from '../run/optimizer-step.js'
import type { EpochTraining } from '../supervised/epoch-training.js'
import { evaluationRows } from '../supervised/evaluation-rows.js'
import { pairOutputs, tokensOf } from '../supervised/pairs.js'
import { type ReferenceLogprobs, sumLogprobs } from './reference-logprobs.js'
import { pairResponses } from './responses.js'

export interface PreferenceLoopOptions {
  readonly model: TokenModel<'language'>
  /** Of every row of training and validation. */
  readonly reference: ReferenceLogprobs
  readonly training: EpochTraining<PreferenceExample>
  readonly validation: ExampleSet<PreferenceExample> | undefined
  readonly loss: PreferenceLossOptions
  readonly signal: AbortSignal
}

/** dpo, cdpo and ipo: against the reference, chosen answers become likelier than rejected ones. */
export async function preferenceLoop(options: PreferenceLoopOptions): Promise<void> {
  const { model, reference, training, validation, loss, signal } = options
  const evaluate = () => evaluatePreferences({ model, reference, validation: validation!, loss, signal })
  // One that a stop left undone.
  await training.evaluateIfDue(evaluate)
  for await (const batch of training.batches()) {
    const responses = pairResponses(batch)
    const sequences = responses.map(({ ids }) => ids)
    const totals = { pairs: batch.length }
    let value = 0
    const pairs: PreferencePair[] = []
    const parts: PreferenceStatistics[] = []
    const { step } = await namingRows(batch, 2, () =>
      untilStepped(async overflows => {
        value = 0
        pairs.length = 0
        parts.length = 0
        await model.forwardBackward(
          sequences,
          (outputs, indices) => {
            const samples = preferencePairs(batch, reference, outputs, indices)
            const result = preferenceLoss({ samples, totals, options: loss })
            value += result.value
            pairs.push(...samples)
            parts.push(result.statistics)
            const slopes = result.gradients.flatMap(({ policyChosen, policyRejected }) => [
              policyChosen,
              policyRejected,
            ])
            return outputs.map(({ logprobs }, k) => ({ logprobs: new Float32Array(logprobs.length).fill(slopes[k]!) }))
          },
          { from: responses.map(({ from }) => from), groupSize: 2 },
        )
        return { step: { ...(await model.step(training.rates)), overflows } }
      }),
    )
    const { accuracy, chosenRewardMean, rejectedRewardMean } = mergePreferenceStatistics(parts)
    const mean = (of: (pair: PreferencePair) => number) => pairs.reduce((sum, pair) => sum + of(pair), 0) / pairs.length
    await training.stepped(
      step,
      {
        'loss/train': value,
        'preference/accuracy': accuracy,
        'preference/margin': chosenRewardMean - rejectedRewardMean,
        'preference/chosen_reward': chosenRewardMean,
        'preference/rejected_reward': rejectedRewardMean,
        'preference/chosen_logprob': mean(pair => pair.policyChosen),
        'preference/rejected_logprob': mean(pair => pair.policyRejected),
      },
      { tokens: tokensOf(sequences), examples: batch.length },
    )
    await training.evaluateIfDue(evaluate)
    await training.saveIfDue()
  }
  await training.finish(evaluate)
}

/** Loss, accuracy and margin of the implicit rewards on held-out pairs. */
export async function evaluatePreferences(options: {
  model: TokenModel<'language'>
  reference: ReferenceLogprobs
  validation: ExampleSet<PreferenceExample>
  loss: PreferenceLossOptions
  signal: AbortSignal
}): Promise<Record<'loss/validation' | `validation/${'accuracy' | 'margin'}`, number>> {
  const { model, reference, validation, loss, signal } = options
  let [sum, pairs] = [0, 0]
  const parts: PreferenceStatistics[] = []
  for await (const part of evaluationRows(validation)) {
    const responses = pairResponses(part)
    const sequences = responses.map(({ ids }) => ids)
    const from = responses.map(response => response.from)
    const outputs = await namingRows(part, 2, () => model.score(sequences, { from, signal }))
    const samples = preferencePairs(part, reference, outputs, [...sequences.keys()])
    const { value, statistics } = preferenceLoss({ samples, totals: { pairs: part.length }, options: loss })
    sum += value * part.length
    pairs += part.length
    parts.push(statistics)
  }
  const { accuracy, chosenRewardMean, rejectedRewardMean } = mergePreferenceStatistics(parts)
  return {
    'loss/validation': sum / pairs,
    'validation/accuracy': accuracy,
    'validation/margin': chosenRewardMean - rejectedRewardMean,
  }
}

function preferencePairs(
  rows: readonly PreferenceExample[],
  reference: ReferenceLogprobs,
  outputs: readonly { logprobs: Float32Array }[],
  indices: readonly number[],
): PreferencePair[] {
  return pairOutputs(outputs, indices).map(({ pair, chosen, rejected }) => {
    const row = rows[pair]!
    const [own, other] = pairResponses([row])
    return {
      name: row.where,
      policyChosen: sumLogprobs(chosen.logprobs),
      policyRejected: sumLogprobs(rejected.logprobs),
      refChosen: reference.get(own!.key),
      refRejected: reference.get(other!.key),
      chosenTokens: chosen.logprobs.length,
      rejectedTokens: rejected.logprobs.length,
    }
  })
}
