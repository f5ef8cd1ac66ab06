import type { ExampleSet, PreferenceExample } from '../../data/index.js'
import {
  mergePreferenceStatistics,
  type PreferenceLossOptions,
  type PreferencePair,
  type PreferenceStatistics,
  preferenceLoss,
} from '../../maths/index.js'
import type { TokenModel } from '../../model/index.js'
import type { EpochTraining, RowsDone } from '../supervised/epoch-training.js'
import { type BatchLoss, evaluateLoss, pairOutputs, supervisedLoop } from '../supervised/loop.js'
import { type ReferenceLogprobs, sumLogprobs } from './reference-logprobs.js'
import { pairResponses } from './responses.js'

interface PreferenceLoopOptions {
  readonly model: TokenModel<'language'>
  /** Of every row of training and validation. */
  readonly reference: ReferenceLogprobs
  readonly training: EpochTraining<PreferenceExample>
  readonly validation: ExampleSet<PreferenceExample> | undefined
  readonly loss: PreferenceLossOptions
  readonly signal: AbortSignal
}

/** dpo, cdpo and ipo: against the reference, chosen answers become likelier than rejected ones. */
export function preferenceLoop(options: PreferenceLoopOptions): Promise<void> {
  const { model, training, validation } = options
  const evaluate = (onRows: RowsDone) => evaluatePreferences({ ...options, validation: validation!, onRows })
  return supervisedLoop({ model, training, loss: batchLoss(options), evaluate })
}

interface Seen {
  readonly pairs: readonly PreferencePair[]
  readonly statistics: PreferenceStatistics
}

function batchLoss({ reference, loss }: Pick<PreferenceLoopOptions, 'reference' | 'loss'>) {
  return (batch: readonly PreferenceExample[]): BatchLoss<'language', Seen> => ({
    part: (outputs, indices) => {
      const pairs = preferencePairs(batch, reference, outputs, indices)
      const { value, statistics, gradients } = preferenceLoss({
        samples: pairs,
        totals: { pairs: batch.length },
        options: loss,
      })
      const slopes = gradients.flatMap(({ policyChosen, policyRejected }) => [policyChosen, policyRejected])
      return {
        value,
        gradients: outputs.map(({ logprobs }, k) => ({ logprobs: new Float32Array(logprobs.length).fill(slopes[k]!) })),
        seen: { pairs, statistics },
      }
    },
    metrics: seen => {
      const { accuracy, chosenRewardMean, rejectedRewardMean } = merged(seen)
      const pairs = seen.flatMap(part => part.pairs)
      const mean = (of: (pair: PreferencePair) => number) =>
        pairs.reduce((sum, pair) => sum + of(pair), 0) / pairs.length
      return {
        'preference/accuracy': accuracy,
        'preference/margin': chosenRewardMean - rejectedRewardMean,
        'preference/chosen_reward': chosenRewardMean,
        'preference/rejected_reward': rejectedRewardMean,
        'preference/chosen_logprob': mean(pair => pair.policyChosen),
        'preference/rejected_logprob': mean(pair => pair.policyRejected),
      }
    },
  })
}

const merged = (seen: readonly Seen[]): PreferenceStatistics =>
  mergePreferenceStatistics(seen.map(({ statistics }) => statistics))

/** Loss, accuracy and margin of the implicit rewards on held-out pairs. */
async function evaluatePreferences(
  options: Omit<PreferenceLoopOptions, 'training' | 'validation'> & {
    validation: ExampleSet<PreferenceExample>
    onRows?: RowsDone
  },
): Promise<Record<'loss/validation' | `validation/${'accuracy' | 'margin'}`, number>> {
  const { mean, seen } = await evaluateLoss({ ...options, loss: batchLoss(options) })
  const { accuracy, chosenRewardMean, rejectedRewardMean } = merged(seen)
  return {
    'loss/validation': mean,
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
