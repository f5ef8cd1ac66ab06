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
import { untilStepped } from '../run/optimizer-step.js'
import type { EpochTraining } from '../supervised/epoch-training.js'
import { evaluationRows } from '../supervised/evaluation-rows.js'
import { tokensOf } from '../supervised/pairs.js'
import { type ReferenceLogprobs, sumLogprobs } from './reference-logprobs.js'
import { labelledResponses, mismatchedResponses } from './responses.js'

export interface KtoLoopOptions {
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

/** kto: against the reference, desirable answers become likelier than the policy's drift makes any answer, undesirable ones less. */
export async function ktoLoop(options: KtoLoopOptions): Promise<void> {
  const { model, reference, training, validation, loss } = options
  const evaluate = () => evaluateKto({ ...options, validation: validation! })
  // One that a stop left undone.
  await training.evaluateIfDue(evaluate)
  for await (const batch of training.batches()) {
    const totals = await batchTotals(batch, options)
    const responses = labelledResponses(batch)
    const sequences = responses.map(({ ids }) => ids)
    let value = 0
    const parts: KtoStatistics[] = []
    const { step } = await namingRows(batch, 1, () =>
      untilStepped(async overflows => {
        value = 0
        parts.length = 0
        await model.forwardBackward(
          sequences,
          (outputs, indices) => {
            const samples = ktoSamples(batch, reference, outputs, indices)
            const result = loss({ samples, totals })
            value += result.value
            parts.push(result.statistics)
            return result.gradients.map(({ policy }, k) => ({
              logprobs: new Float32Array(outputs[k]!.logprobs.length).fill(policy),
            }))
          },
          { from: responses.map(({ from }) => from) },
        )
        return { step: { ...(await model.step(training.rates)), overflows } }
      }),
    )
    await training.stepped(
      step,
      { 'loss/train': value, 'preference/kl': totals.z0, ...rewards(mergeKtoStatistics(parts)) },
      { tokens: tokensOf(sequences), examples: batch.length },
    )
    await training.evaluateIfDue(evaluate)
    await training.saveIfDue()
  }
  await training.finish(evaluate)
}

/** Loss and margin on held-out responses, each part of them with a point of reference of its own. */
export async function evaluateKto(
  options: Omit<KtoLoopOptions, 'training' | 'validation'> & { validation: ExampleSet<LabelledExample> },
): Promise<Record<string, number>> {
  const { model, reference, validation, loss, signal } = options
  let [sum, count] = [0, 0]
  const parts: KtoStatistics[] = []
  for await (const part of evaluationRows(validation)) {
    const totals = await batchTotals(part, options)
    const responses = labelledResponses(part)
    const sequences = responses.map(({ ids }) => ids)
    const from = responses.map(response => response.from)
    const outputs = await namingRows(part, 1, () => model.score(sequences, { from, signal }))
    const samples = ktoSamples(part, reference, outputs, [...sequences.keys()])
    const { value, statistics } = loss({ samples, totals })
    sum += value * part.length
    count += part.length
    parts.push(statistics)
  }
  const { 'preference/margin': margin } = rewards(mergeKtoStatistics(parts))
  return { 'loss/validation': sum / count, ...(margin === undefined ? {} : { 'validation/margin': margin }) }
}

/** z0 from the policy as it is before the step. Where no two prompts of a batch differ there is nothing to estimate it from. */
async function batchTotals(
  batch: readonly LabelledExample[],
  { model, reference, maxLength }: Pick<KtoLoopOptions, 'model' | 'reference' | 'maxLength'>,
): Promise<KtoTotals> {
  const mismatched = mismatchedResponses(batch, maxLength)
  if (mismatched.length === 0) return { responses: batch.length, z0: 0 }
  const rows = mismatched.map(({ row }) => row)
  const sequences = mismatched.map(({ ids }) => ids)
  const from = mismatched.map(response => response.from)
  const outputs = await namingRows(rows, 1, () => model.score(sequences, { from }))
  return ktoTotals({
    responses: batch.length,
    mismatched: mismatched.map(({ key, row }, i) => ({
      name: row.where,
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
    const { where, promptId, desirable } = rows[indices[k]!]!
    return { name: where, policy: sumLogprobs(logprobs), ref: reference.get(promptId), desirable }
  })
}

/** A batch may have answers of one kind alone: the other has no mean, and they have no margin. */
function rewards(statistics: KtoStatistics): Record<string, number> {
  const { desirable, undesirable, desirableRewardMean, undesirableRewardMean } = statistics
  return {
    ...(desirable > 0 ? { 'preference/chosen_reward': desirableRewardMean } : {}),
    ...(undesirable > 0 ? { 'preference/rejected_reward': undesirableRewardMean } : {}),
    ...(desirable > 0 && undesirable > 0 ? { 'preference/margin': desirableRewardMean - undesirableRewardMean } : {}),
  }
}
