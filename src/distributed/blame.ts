/** What a step of all ranks came to: the same everywhere, or an error that names the sequence behind it. */
import { NonFiniteError, type TrainStepResult } from '../model/index.js'
import { NonFiniteGradientError } from '../tensor/index.js'
import { isSymptom, RankError } from './errors.js'
import type { StepAnswer } from './rank-models.js'
import type { World } from './world.js'

/** A rank's calls since the last step: which call of all each was part of, and its sequences there. */
type Parts = readonly { readonly call: number; readonly indices: readonly number[] }[]

export function blamedStep(
  world: World,
  own: PromiseSettledResult<TrainStepResult>,
  others: readonly PromiseSettledResult<StepAnswer>[],
  parts: readonly Parts[],
): TrainStepResult {
  world.refuseBroken()
  const all = [own, ...others]
  const failed = all.flatMap((one, rank) => (one.status === 'rejected' ? [{ rank, error: one.reason as unknown }] : []))
  if (own.status === 'fulfilled' && failed.length === 0) {
    const { norm, version } = own.value
    const different = others.findIndex(
      one => one.status === 'fulfilled' && (one.value.norm !== String(norm) || one.value.version !== version),
    )
    if (different === -1) return own.value
    throw broken(world, new RankError(`${world.peers[different]!.name} made another step than rank 0`))
  }
  if (failed.length < all.length) {
    const { error } = failed[0]!
    if (isSymptom(error)) throw error
    throw broken(world, new RankError('a step was made on some ranks and not on others', { cause: error }))
  }
  throw nameSequence(failed, parts) ?? failed[0]!.error
}

/** Every rank looked for the sequence among its own; the first of those found, in the order of the calls. */
function nameSequence(
  failed: readonly { rank: number; error: unknown }[],
  parts: readonly Parts[],
): NonFiniteError | undefined {
  const found = failed.flatMap(({ rank, error }) => {
    if (!(error instanceof NonFiniteError)) return []
    const part = parts[rank]![(error.call ?? 1) - 1]
    const index = part?.indices[error.sequence]
    return part && index !== undefined ? [{ call: part.call, index, error }] : []
  })
  const [first] = found.sort((a, b) => a.call - b.call || a.index - b.index)
  if (!first) return undefined
  const calls = Math.max(...parts.flat().map(({ call }) => call + 1))
  const cause = failed.find(({ error }) => error instanceof NonFiniteGradientError)?.error ?? first.error
  return new NonFiniteError('the gradient', first.index, { cause, ...(calls > 1 && { call: first.call + 1 }) })
}

function broken(world: World, error: RankError): RankError {
  world.fail(error)
  return error
}
