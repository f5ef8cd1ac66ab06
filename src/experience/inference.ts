/** Scores samples with actor, reference and critic, a few sequences at a time. */
import type { ModelInput, Outputs, Role, ScoreOptions, TokenModel } from '../model/index.js'

/** What is needed of a model that only scores. */
export type Scorer<R extends Role = Role> = Pick<
  TokenModel<R>,
  'score' | 'capabilities' | 'offload' | 'reload' | 'maxLength'
>

export interface InferenceOptions extends Pick<ScoreOptions, 'temperature' | 'entropy' | 'adapter' | 'signal'> {
  microRolloutBatchSize: number
  packingSamples: boolean
}

/** What the model says of each sequence's tokens from `from` on. */
export async function scoreResponses<R extends Role>(
  model: Pick<Scorer<R>, 'score'>,
  sequences: readonly ModelInput[],
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
