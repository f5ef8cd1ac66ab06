/** The models' part: what actor, reference and critic say of samples, a few sequences at a time, over one model or several. */
import type { Outputs, Role, ScoreOptions, Sequence, TokenModel } from '../model/index.js'

/** What is needed of a model that only scores. */
export type Scorer<R extends Role = Role> = Pick<
  TokenModel<R>,
  'score' | 'capabilities' | 'offload' | 'reload' | 'maxLength'
>

/** Parts of nearly equal size, in order: `gather` of them is the list again. */
export function scatter<T>(items: readonly T[], workers: number): T[][] {
  return Array.from({ length: workers }, (_, i) =>
    items.slice(Math.floor((i * items.length) / workers), Math.floor(((i + 1) * items.length) / workers)),
  )
}

export function gather<T>(parts: readonly (readonly T[])[]): T[] {
  return parts.flat()
}

/**
 * Models with the same weights as one: each scores a part of the sequences, all at the same time. A model's numbers for a
 * sequence do not depend on the others in its batch, so those of several workers are those of one.
 */
export function dataParallel<R extends Role>(models: readonly [Scorer<R>, ...Scorer<R>[]]): Scorer<R> {
  const all = (work: (model: Scorer<R>) => Promise<void>) => async (): Promise<void> => {
    await Promise.all(models.map(work))
  }
  return {
    capabilities: models[0].capabilities,
    maxLength: Math.min(...models.map(({ maxLength }) => maxLength)),
    async score(sequences, options: ScoreOptions = {}) {
      const { from, ...rest } = options
      const parts = scatter(sequences, models.length)
      const starts = scatter(typeof from === 'object' ? from : [], models.length)
      return gather(
        await Promise.all(
          parts.map((part, i) => {
            if (part.length === 0) return []
            const own = typeof from === 'object' ? starts[i]! : from
            return models[i]!.score(part, { ...rest, ...(own === undefined ? {} : { from: own }) })
          }),
        ),
      )
    },
    offload: all(model => model.offload()),
    reload: all(model => model.reload()),
  }
}

export interface InferenceOptions extends Pick<ScoreOptions, 'temperature' | 'entropy' | 'adapter' | 'signal'> {
  microRolloutBatchSize: number
  packingSamples: boolean
}

/** What the model says of each sequence's tokens from `from` on. */
export async function scoreResponses<R extends Role>(
  model: Pick<Scorer<R>, 'score'>,
  sequences: readonly Sequence[],
  from: readonly number[],
  options: InferenceOptions,
): Promise<Outputs[R][]> {
  const { microRolloutBatchSize: size, packingSamples, ...rest } = options
  const found: Outputs[R][] = []
  for (let start = 0; start < sequences.length; start += size) {
    const part = sequences.slice(start, start + size)
    const scored = await model.score(part, {
      ...rest,
      from: from.slice(start, start + size),
      packing: packingSamples ? 'on' : 'off',
    })
    for (const output of scored) found.push(output)
  }
  return found
}

/** The share of rows of padded batches of `size` sequences that hold no token. */
export function paddingShare(lengths: readonly number[], size: number): number {
  let rows = 0
  let tokens = 0
  for (let start = 0; start < lengths.length; start += size) {
    const part = lengths.slice(start, start + size)
    rows += part.length * Math.max(...part)
    tokens += part.reduce((sum, length) => sum + length, 0)
  }
  return rows === 0 ? 0 : 1 - tokens / rows
}
