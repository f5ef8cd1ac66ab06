/** A training on the rows of a data set, whatever its loss: a step for each batch, evaluations, checkpoints. */
import { type ExampleSet, sequencesOf } from '../../data/index.js'
import type { Gradients, Outputs, Role, TokenModel } from '../../model/index.js'
import { namingRows, type TrainingRow } from '../run/errors.js'
import { untilStepped } from '../run/optimizer-step.js'
import type { EpochTraining, RowsDone } from './epoch-training.js'
import { evaluationRows } from './evaluation-rows.js'
import type { SupervisedExample } from './example-digest.js'

/** The loss of one batch, whose outputs come in parts. */
export interface BatchLoss<R extends Role, P> {
  /** Of some sequences of the batch, by their places among the sequences of its rows. */
  part(
    outputs: readonly Outputs[R][],
    indices: readonly number[],
  ): { readonly value: number; readonly gradients: readonly Gradients[R][]; readonly seen: P }
  /** Metrics of the step beside its loss, from what all parts have seen. */
  metrics(seen: readonly P[]): Readonly<Record<string, number>>
}

interface SupervisedLoopOptions<R extends Role, E extends SupervisedExample, P> {
  readonly model: TokenModel<R>
  readonly training: EpochTraining<E>
  readonly packing?: 'on' | 'off'
  /** Called before the pass of a batch, with all of it. */
  readonly loss: (batch: readonly E[]) => BatchLoss<R, P> | Promise<BatchLoss<R, P>>
  readonly evaluate: (onRows: RowsDone) => Promise<Readonly<Record<string, number>>>
}

export async function supervisedLoop<R extends Role, E extends SupervisedExample, P>(
  options: SupervisedLoopOptions<R, E, P>,
): Promise<void> {
  const { model, training, packing = 'on', loss, evaluate } = options
  // One that a stop left undone.
  await training.evaluateIfDue(evaluate)
  for await (const batch of training.batches()) {
    const { part, metrics } = await loss(batch)
    const sequences = batch.flatMap(sequencesOf)
    const groupSize = sequences.length / batch.length
    training.training(0, batch.length)
    const { step, value, seen } = await namingRows(sequenceRows(batch), () =>
      untilStepped(async overflows => {
        let [value, done] = [0, 0]
        const seen: P[] = []
        await model.forwardBackward(
          sequences,
          (outputs, indices) => {
            const found = part(outputs, indices)
            value += found.value
            seen.push(found.seen)
            done += indices.length
            training.training(done / groupSize, batch.length)
            return found.gradients
          },
          { packing, groupSize },
        )
        return { step: { ...(await model.step(training.rates)), overflows }, value, seen }
      }),
    )
    const tokens = sequences.reduce((sum, { ids }) => sum + ids.length, 0)
    await training.stepped(step, { 'loss/train': value, ...metrics(seen) }, { tokens, examples: batch.length })
    await training.evaluateIfDue(evaluate)
    await training.saveIfDue()
  }
  await training.finish(evaluate)
}

/** The row of each sequence of a batch. */
const sequenceRows = (batch: readonly SupervisedExample[]): TrainingRow[] =>
  batch.flatMap(example => sequencesOf(example).map(sequence => ({ where: example.where, sequence })))

/** Held-out rows and what the model answers for their sequences, part by part. */
export async function* scoredRows<R extends Role, E extends SupervisedExample>(
  model: TokenModel<R>,
  validation: ExampleSet<E>,
  options: { packing?: 'on' | 'off'; signal: AbortSignal; onRows?: RowsDone | undefined },
): AsyncGenerator<{ rows: readonly E[]; outputs: readonly Outputs[R][] }, void> {
  const { onRows, ...asked } = options
  let before = 0
  for await (const rows of evaluationRows(validation)) {
    const sequences = rows.flatMap(sequencesOf)
    const onProgress = (done: number): void =>
      onRows?.(before + (done * rows.length) / sequences.length, validation.size)
    const outputs = await namingRows(sequenceRows(rows), () => model.score(sequences, { ...asked, onProgress }))
    before += rows.length
    yield { rows, outputs }
  }
}

/** The mean loss of held-out rows, and what its parts have seen. */
export async function evaluateLoss<R extends Role, E extends SupervisedExample, P>(
  options: Pick<SupervisedLoopOptions<R, E, P>, 'model' | 'loss'> & {
    validation: ExampleSet<E>
    signal: AbortSignal
    onRows?: RowsDone | undefined
  },
): Promise<{ mean: number; seen: readonly P[] }> {
  const { model, loss, validation, signal, onRows } = options
  let [sum, count] = [0, 0]
  const seen: P[] = []
  for await (const { rows, outputs } of scoredRows(model, validation, { signal, onRows })) {
    const { part } = await loss(rows)
    const found = part(outputs, [...outputs.keys()])
    sum += found.value * rows.length
    count += rows.length
    seen.push(found.seen)
  }
  return { mean: sum / count, seen }
}

/**
 * What a model answered for the sequences of pairs, as pairs again. Both of one come together, the chosen one first, where the
 * call has `groupSize: 2`.
 */
export function pairOutputs<O>(
  outputs: readonly O[],
  indices: readonly number[],
): { pair: number; chosen: O; rejected: O }[] {
  return Array.from({ length: outputs.length / 2 }, (_, k) => ({
    pair: indices[2 * k]! / 2,
    chosen: outputs[2 * k]!,
    rejected: outputs[2 * k + 1]!,
  }))
}
