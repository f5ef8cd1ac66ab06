import type { ConversationExample, ExampleSet } from '../../data/index.js'
import { sftLoss, tokenTotals } from '../../maths/index.js'
import type { TokenModel } from '../../model/index.js'
import { trainedCount } from '../../sequence/index.js'
import type { EpochTraining, RowsDone } from '../supervised/epoch-training.js'
import { type BatchLoss, scoredRows, supervisedLoop } from '../supervised/loop.js'

interface SftLoopOptions {
  readonly model: TokenModel<'language'>
  readonly training: EpochTraining<ConversationExample>
  readonly validation: ExampleSet<ConversationExample> | undefined
  readonly packing: 'on' | 'off'
  readonly signal: AbortSignal
}

/** Supervised fine-tuning: the log-probabilities of the trained tokens go up. */
export function sftLoop({ model, training, validation, packing, signal }: SftLoopOptions): Promise<void> {
  const evaluate = (onRows: RowsDone) => evaluateSft({ model, validation: validation!, packing, signal, onRows })
  return supervisedLoop({ model, training, packing, loss: batchLoss, evaluate })
}

function batchLoss(batch: readonly ConversationExample[]): BatchLoss<'language', void> {
  const totals = tokenTotals(batch.map(({ sequence }) => trainedCount(sequence)))
  return {
    part: (outputs, indices) => {
      const samples = outputs.map(({ logprobs }, k) => ({ name: batch[indices[k]!]!.where, logprobs }))
      const { value, gradients } = sftLoss({ samples, totals })
      return {
        value,
        gradients: gradients.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs) })),
        seen: undefined,
      }
    },
    metrics: () => ({ 'data/trained_tokens': totals.tokens }),
  }
}

/** The loss over all trained tokens of the validation data, and the perplexity that it is the logarithm of. */
export async function evaluateSft(options: {
  model: TokenModel<'language'>
  validation: ExampleSet<ConversationExample>
  packing: 'on' | 'off'
  signal: AbortSignal
  onRows?: RowsDone
}): Promise<{ 'loss/validation': number; 'validation/perplexity': number }> {
  const { model, validation, packing, signal, onRows } = options
  let [sum, tokens] = [0, 0]
  for await (const { outputs } of scoredRows(model, validation, { packing, signal, onRows }))
    for (const { logprobs } of outputs) {
      for (const logprob of logprobs) sum += logprob
      tokens += logprobs.length
    }
  const loss = -sum / tokens
  return { 'loss/validation': loss, 'validation/perplexity': Math.exp(loss) }
}
