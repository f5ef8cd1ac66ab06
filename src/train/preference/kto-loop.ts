import type { ExampleSet, LabelledExample } from '../../data/index.js'
import {
  type KtoSample,
  type KtoStatistics,
  type KtoTotals,
  ktoTotals,
  type LabelledLoss,
  mergeKtoStatistics,
} from '../../maths/index.js'
import type { TokenModel } from '../../model/index.js'
import { namingRows } from '../run/errors.js'
import type { EpochTraining, RowsDone } from '../supervised/epoch-training.js'
import { type BatchLoss, evaluateLoss, supervisedLoop } from '../supervised/loop.js'
import { type ReferenceLogprobs, sumLogprobs } from './reference-logprobs.js'
import { mismatchedResponses } from './responses.js'

interface KtoLoopOptions {
  readonly model: TokenModel<'language'>
  /** Of every row, and of every prompt with the response of another that a batch will have. */
  readonly reference: ReferenceLogprobs
  readonly training: EpochTraining<LabelledExample>
  readonly validation: ExampleSet<LabelledExample> | undefined
  readonly loss: LabelledLoss
  /** Tokens a sequence may have. */
  readonly maxLength: number
  readonly signal: AbortSignal
}

/** kto: relative to the reference, desirable answers become more likely than the mean KL, undesirable ones less likely. */
export function ktoLoop(options: KtoLoopOptions): Promise<void> {
  const { model, training, validation } = options
  const evaluate = (onRows: RowsDone) => evaluateKto({ ...options, validation: validation!, onRows })
  return supervisedLoop({ model, training, loss: batchLoss(options), evaluate })
}

function batchLoss(options: Omit<KtoLoopOptions, 'training' | 'validation'>) {
  return async (batch: readonly LabelledExample[]): Promise<BatchLoss<'language', KtoStatistics>> => {
    const totals = await batchTotals(batch, options)
    return {
      part: (outputs, indices) => {
        const samples = ktoSamples(batch, options.reference, outputs, indices)
        const { value, statistics, gradients } = options.loss({ samples, totals })
        return {
          value,
          gradients: gradients.map(({ policy }, k) => ({
            logprobs: new Float32Array(outputs[k]!.logprobs.length).fill(policy),
          })),
          seen: statistics,
        }
      },
      metrics: seen => ({ 'preference/kl': totals.z0, ...rewards(mergeKtoStatistics(seen)) }),
    }
  }
}

/** Loss and margin on held-out responses, each part of them with a point of reference of its own. */
async function evaluateKto(
  options: Omit<KtoLoopOptions, 'training' | 'validation'> & {
    validation: ExampleSet<LabelledExample>
    onRows?: RowsDone
  },
): Promise<Record<string, number>> {
  const { mean, seen } = await evaluateLoss({ ...options, loss: batchLoss(options) })
  const { 'preference/margin': margin } = rewards(mergeKtoStatistics(seen))
  return { 'loss/validation': mean, ...(margin === undefined ? {} : { 'validation/margin': margin }) }
}

/** z0 from the policy before the step. Undefined if all prompts of a batch are equal. */
async function batchTotals(
  batch: readonly LabelledExample[],
  { model, reference, maxLength }: Pick<KtoLoopOptions, 'model' | 'reference' | 'maxLength'>,
): Promise<KtoTotals> {
  const mismatched = mismatchedResponses(batch, maxLength)
  if (mismatched.length === 0) return { responses: batch.length, z0: 0 }
  const sequences = mismatched.map(({ sequence }) => sequence)
  const outputs = await namingRows(mismatched, () => model.score(sequences))
  return ktoTotals({
    responses: batch.length,
    mismatched: mismatched.map(({ key, where }, i) => ({
      name: where,
      policy: sumLogprobs(outputs[i]!.logprobs),
      ref: reference.get(key),
    })),
  })
}

function ktoSamples(
  rows: readonly LabelledExample[],
  reference: ReferenceLogprobs,
  outputs: readonly { logprobs: Float32Array }[],
  indices: readonly number[],
): KtoSample[] {
  return outputs.map(({ logprobs }, k) => {
    const { where, sequence, desirable } = rows[indices[k]!]!
    return { name: where, policy: sumLogprobs(logprobs), ref: reference.get(sequence.promptId), desirable }
  })
}

/** A batch may have only one kind of answers: then the other kind has no mean, and there is no margin. */
function rewards(statistics: KtoStatistics): Record<string, number> {
  const { desirable, undesirable, desirableRewardMean, undesirableRewardMean } = statistics
  return {
    ...(desirable > 0 ? { 'preference/chosen_reward': desirableRewardMean } : {}),
    ...(undesirable > 0 ? { 'preference/rejected_reward': undesirableRewardMean } : {}),
    ...(desirable > 0 && undesirable > 0 ? { 'preference/margin': desirableRewardMean - undesirableRewardMean } : {}),
  }
}
