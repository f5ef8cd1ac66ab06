import type { ConversationExample, ExampleSet } from '../../data/index.js'
import { sftLoss, sftTotals } from '../../maths/index.js'
import type { TokenModel } from '../../model/index.js'
import { namingRows } from '../run/errors.js'
import { untilStepped } from '../run/optimizer-step.js'
import type { EpochTraining } from '../supervised/epoch-training.js'
import { evaluationRows } from '../supervised/evaluation-rows.js'
import { tokensOf } from '../supervised/pairs.js'

export interface SftLoopOptions {
  readonly model: TokenModel<'language'>
  readonly training: EpochTraining<ConversationExample>
  readonly validation: ExampleSet<ConversationExample> | undefined
  readonly packing: 'on' | 'off'
  readonly signal: AbortSignal
}

/** Supervised fine-tuning: the log-probabilities of the trained tokens go up. */
export async function sftLoop({ model, training, validation, packing, signal }: SftLoopOptions): Promise<void> {
  const evaluate = () => evaluateSft({ model, validation: validation!, packing, signal })
  // One that a stop left undone.
  await training.evaluateIfDue(evaluate)
  for await (const batch of training.batches()) {
    const rows = batch.map(trainedPart)
    const totals = sftTotals(rows.map(row => row.mask))
    let loss = 0
    const { step } = await namingRows(batch, 1, () =>
      untilStepped(async overflows => {
        loss = 0
        await model.forwardBackward(
          rows.map(row => row.ids),
          (outputs, indices) => {
            const samples = outputs.map(({ logprobs }, k) => ({ ...rows[indices[k]!]!, logprobs }))
            const { value, gradients } = sftLoss({ samples, totals })
            loss += value
            return gradients.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs) }))
          },
          { from: rows.map(row => row.from), packing },
        )
        return { step: { ...(await model.step(training.rates)), overflows } }
      }),
    )
    await training.stepped(
      step,
      { 'loss/train': loss, 'data/trained_tokens': totals.tokens },
      { tokens: tokensOf(rows.map(row => row.ids)), examples: rows.length },
    )
    await training.evaluateIfDue(evaluate)
    await training.saveIfDue()
  }
  await training.finish(evaluate)
}

/** An example from its first trained token on: the log-probabilities before it are nobody's business. */
function trainedPart({ ids, mask, where }: ConversationExample) {
  const from = mask.indexOf(1)
  return { name: where, ids, from, mask: mask.subarray(from) }
}

/** The loss over all trained tokens of the validation data, and the perplexity that it is the logarithm of. */
export async function evaluateSft(options: {
  model: TokenModel<'language'>
  validation: ExampleSet<ConversationExample>
  packing: 'on' | 'off'
  signal: AbortSignal
}): Promise<{ 'loss/validation': number; 'validation/perplexity': number }> {
  const { model, validation, packing, signal } = options
  let [sum, tokens] = [0, 0]
  for await (const part of evaluationRows(validation)) {
    const rows = part.map(trainedPart)
    const sequences = rows.map(row => row.ids)
    const from = rows.map(row => row.from)
    const outputs = await namingRows(part, 1, () => model.score(sequences, { from, packing, signal }))
    for (const [i, { logprobs }] of outputs.entries())
      for (const [t, trained] of rows[i]!.mask.entries())
        if (trained) {
          sum += logprobs[t]!
          tokens++
        }
  }
  const loss = -sum / tokens
  return { 'loss/validation': loss, 'validation/perplexity': Math.exp(loss) }
}
