import type { ExampleSet, PreferenceExample } from '../../data/index.js'
import { mergeRewardModelStatistics, type PairLoss, type RewardModelStatistics } from '../../maths/index.js'
import type { TokenModel } from '../../model/index.js'
import { namingRows } from '../run/errors.js'
import { untilStepped } from '../run/optimizer-step.js'
import type { EpochTraining } from '../supervised/epoch-training.js'
import { evaluationRows } from '../supervised/evaluation-rows.js'
import { pairOutputs, pairSequences, tokensOf } from '../supervised/pairs.js'
import { calibrationError } from './calibration.js'

export interface RewardModelLoopOptions {
  readonly model: TokenModel<'reward'>
  readonly training: EpochTraining<PreferenceExample>
  readonly validation: ExampleSet<PreferenceExample> | undefined
  readonly loss: PairLoss
  readonly signal: AbortSignal
}

/** Trains a reward model: of each pair, the chosen answer's score rises above the rejected one's. */
export async function rewardModelLoop(options: RewardModelLoopOptions): Promise<void> {
  const { model, training, validation, loss, signal } = options
  const evaluate = () => evaluateRewardModel({ model, validation: validation!, loss, signal })
  // One that a stop left undone.
  await training.evaluateIfDue(evaluate)
  for await (const batch of training.batches()) {
    const sequences = pairSequences(batch)
    const totals = { pairs: batch.length }
    let value = 0
    const parts: RewardModelStatistics[] = []
    const { step } = await namingRows(batch, 2, () =>
      untilStepped(async overflows => {
        value = 0
        parts.length = 0
        await model.forwardBackward(
          sequences,
          (outputs, indices) => {
            const result = loss({ samples: scoredPairs(batch, outputs, indices), totals })
            value += result.value
            parts.push(result.statistics)
            return result.gradients.flatMap(({ chosen, rejected }) => [{ score: chosen }, { score: rejected }])
          },
          { groupSize: 2 },
        )
        return { step: { ...(await model.step(training.rates)), overflows } }
      }),
    )
    const { accuracy, chosenMean, rejectedMean } = mergeRewardModelStatistics(parts)
    await training.stepped(
      step,
      {
        'loss/train': value,
        'reward/accuracy': accuracy,
        'reward/margin': chosenMean - rejectedMean,
        'reward/center': (chosenMean + rejectedMean) / 2,
      },
      { tokens: tokensOf(sequences), examples: batch.length },
    )
    await training.evaluateIfDue(evaluate)
    await training.saveIfDue()
  }
  await training.finish(evaluate)
}

/** Loss, accuracy, margin and calibration on held-out pairs. */
export async function evaluateRewardModel(options: {
  model: TokenModel<'reward'>
  validation: ExampleSet<PreferenceExample>
  loss: PairLoss
  signal: AbortSignal
}): Promise<Record<'loss/validation' | `validation/${'accuracy' | 'margin' | 'calibration'}`, number>> {
  const { model, validation, loss, signal } = options
  let sum = 0
  const differences: number[] = []
  for await (const part of evaluationRows(validation)) {
    const outputs = await namingRows(part, 2, () => model.score(pairSequences(part), { signal }))
    const samples = scoredPairs(
      part,
      outputs,
      outputs.map((_, i) => i),
    )
    sum += part.length * loss({ samples, totals: { pairs: part.length } }).value
    for (const { chosen, rejected } of samples) differences.push(chosen - rejected)
  }
  const pairs = differences.length
  return {
    'loss/validation': sum / pairs,
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
