/**
 * From hidden states to log-probabilities and entropies, in chunks over rows: the logits of one chunk exist at a time, so
 * memory grows with rows times hidden size, not with rows times vocabulary. The backward pass makes the logits again,
 * unless all of them together are small enough to keep.
 */
import { cat, customFunction, linear, type NumberLike, type Tensor } from '../tensor/index.js'

export interface HeadPlan {
  chunks: number
  rowsPerChunk: number
  /** Keep the log-softmax of every chunk for the backward pass. */
  keep: boolean
  /** Logits are divided by a temperature. */
  scaled: boolean
  /** The output matrix is trained. */
  trainWeight: boolean
  /** Entropies are wanted too. */
  entropy: boolean
}

/** Logits of a chunk take about this much; enough rows for an efficient product, little beside a model. */
const chunkBytes = 16 << 20
const keepBytes = 48 << 20

export function planHead(
  rows: number,
  vocabSize: number,
  options: Pick<HeadPlan, 'scaled' | 'trainWeight' | 'entropy'> & { training: boolean },
): HeadPlan {
  const perRow = vocabSize * 4
  const rowsPerChunk = Math.max(16, Math.floor(chunkBytes / perRow))
  const { training, ...wanted } = options
  const keep = training && rows * perRow <= keepBytes
  return { rowsPerChunk, chunks: Math.max(1, Math.ceil(rows / rowsPerChunk)), keep, ...wanted }
}

/** A plan's name: programs are recorded once for each. */
export function planKey({ chunks, keep, scaled, trainWeight, entropy }: HeadPlan): string {
  return [chunks, keep, scaled, trainWeight, entropy].join()
}

/** Log-probabilities and, where the plan wants them, entropies. */
export type LanguageHead = (
  hidden: Tensor,
  weight: Tensor,
  targets: Tensor,
  inverseTemperature: NumberLike,
) => readonly Tensor[]

/** A function of `[rows, hidden]`, `[vocabulary, hidden]` and int64 `[rows]`. */
export function makeLanguageHead(plan: HeadPlan): LanguageHead {
  const chunk = (x: Tensor, i: number): Tensor =>
    plan.chunks === 1 ? x : x.slice(0, i * plan.rowsPerChunk, (i + 1) * plan.rowsPerChunk)
  const logSoftmax = (hidden: Tensor, weight: Tensor, inverseTemperature: NumberLike): Tensor => {
    const logits = linear(hidden, weight)
    return (plan.scaled ? logits.mul_(inverseTemperature) : logits).logSoftmax(-1, { dtype: 'float32' })
  }
  const each = <T>(fn: (i: number) => T): T[] => Array.from({ length: plan.chunks }, (_, i) => fn(i))
  const join = (parts: Tensor[]): Tensor => (parts.length === 1 ? parts[0]! : cat(parts))

  return customFunction({
    inputs: ['tensor', 'tensor', 'tensor', 'number'],
    forward: (hidden, weight, targets, inverseTemperature) => {
      const kept: Tensor[] = []
      const logprobs: Tensor[] = []
      const entropy: Tensor[] = []
      each(i => {
        const logp = logSoftmax(chunk(hidden, i), weight, inverseTemperature)
        if (plan.keep) kept.push(logp)
        logprobs.push(logp.gather(1, chunk(targets, i).unsqueeze(1)).squeeze(1))
        if (plan.entropy) entropy.push(logp.exp().mul_(logp).sum([1]).neg())
      })
      const entropies = plan.entropy ? [join(entropy)] : []
      return { outputs: [join(logprobs), ...entropies], saved: [hidden, weight, targets, ...entropies, ...kept] }
    },
    backward: ({ saved: [hidden, weight, targets, ...rest], gradients, numbers: [inverseTemperature] }) => {
      const entropy = plan.entropy ? rest.shift() : undefined
      let dWeight: Tensor | null = null
      const dHidden = each(i => {
        const h = chunk(hidden!, i)
        const logp = plan.keep ? rest[i]! : logSoftmax(h, weight!, inverseTemperature!)
        const dLogprobs = chunk(gradients[0]!, i).unsqueeze(1)
        // d logprob = onehot - p; d entropy = -p (log p + entropy)
        let factor = dLogprobs
        if (entropy)
          factor = logp.add(chunk(entropy, i).unsqueeze(1)).mul_(chunk(gradients[1]!, i).unsqueeze(1)).add_(dLogprobs)
        const probabilities = logp.exp()
        let dLogits = probabilities.mul_(factor.neg()).scatterAdd_(1, chunk(targets!, i).unsqueeze(1), dLogprobs)
        if (plan.scaled) dLogits = dLogits.mul_(inverseTemperature!)
        dLogits = dLogits.typeAs(weight!)
        if (plan.trainWeight) dWeight = dWeight ? dWeight.addmm_(dLogits.t(), h) : dLogits.t().mm(h)
        return dLogits.mm(weight!)
      })
      return [join(dHidden), dWeight, null]
    },
  }) as LanguageHead
}
