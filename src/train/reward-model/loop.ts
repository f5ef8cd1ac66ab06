import type { ExampleSet, PreferenceExample } from '../../data/index.js'
import { mergeRewardModelStatistics, type PairLoss, type RewardModelStatistics } from '../../maths/index.js'
import type { TokenModel } from '../../model/index.js'
import type { EpochTraining, RowsDone } from '../supervised/epoch-training.js'
import { type BatchLoss, evaluateLoss, pairOutputs, supervisedLoop } from '../supervised/loop.js'
import { calibrationError } from './calibration.js'

interface RewardModelLoopOptions {
  readonly model: TokenModel<'reward'>
  readonly training: EpochTraining<PreferenceExample>
  readonly validation: ExampleSet<PreferenceExample> | undefined
  readonly loss: PairLoss
  readonly signal: AbortSignal
}

/** Trains a reward model: of each pair, the chosen answer's score rises above the rejected one's. */
export function rewardModelLoop(options: RewardModelLoopOptions): Promise<void> {
  const { model, training, validation } = options
  const evaluate = (onRows: RowsDone) => evaluateRewardModel({ ...options, validation: validation!, onRows })
  return supervisedLoop({ model, training, loss: batchLoss(options.loss), evaluate })
}

interface Seen {
  readonly pairs: ReturnType<typeof scoredPairs>
  readonly statistics: RewardModelStatistics
}

function batchLoss(loss: PairLoss) {
  return (batch: readonly PreferenceExample[]): BatchLoss<'reward', Seen> => ({
    part: (outputs, indices) => {
      const pairs = scoredPairs(batch, outputs, indices)
      const { value, statistics, gradients } = loss({ samples: pairs, totals: { pairs: batch.length } })
      return {
        value,
        gradients: gradients.flatMap(({ chosen, rejected }) => [{ score: chosen }, { score: rejected }]),
        seen: { pairs, statistics },
      }
    },
    metrics: seen => {
      const { accuracy, chosenMean, rejectedMean } = mergeRewardModelStatistics(seen.map(part => part.statistics))
      return {
        'reward/accuracy': accuracy,
        'reward/margin': chosenMean - rejectedMean,
        'reward/center': (chosenMean + rejectedMean) / 2,
      }
    },
  })
}

/** Loss, accuracy, margin and calibration on held-out pairs. */
export async function evaluateRewardModel(
  options: Omit<RewardModelLoopOptions, 'training' | 'validation'> & {
    validation: ExampleSet<PreferenceExample>
    onRows?: RowsDone
  },
): Promise<Record<'loss/validation' | `validation/${'accuracy' | 'margin' | 'calibration'}`, number>> {
  const { mean, seen } = await evaluateLoss({ ...options, loss: batchLoss(options.loss) })
  const differences = seen.flatMap(({ pairs }) => pairs.map(({ chosen, rejected }) => chosen - rejected))
  const pairs = differences.length
  return {
    'loss/validation': mean,
    'validation/accuracy': differences.filter(difference => difference > 0).length / pairs,
    'validation/margin': differences.reduce((total, difference) => total + difference, 0) / pairs,
    'validation/calibration': calibrationError(differences),
  }
}

function scoredPairs(
  rows: readonly PreferenceExample[],
  outputs: readonly { score: number }[],
  indices: readonly number[],
) {
  return pairOutputs(outputs, indices).map(({ pair, chosen, rejected }) => {
    const { where, margin } = rows[pair]!
    return { name: where, chosen: chosen.score, rejected: rejected.score, margin }
  })
}
