import { allEqual } from '../maths/index.js'

/** Where a group comes from: the round it was sampled in (0: the first) and its place there. */
interface GroupOrigin {
  readonly round: number
  readonly place: number
}

/** Which groups make the batch, and what became of the others. */
interface GroupSelection {
  /** In order of round and place, at most as many as are needed. */
  readonly kept: readonly GroupOrigin[]
  /** Looked at and left out because all members earned the same. */
  readonly droppedEqual: readonly GroupOrigin[]
  /** Left out because they could not be completed. */
  readonly droppedIncomplete: readonly GroupOrigin[]
  /** Sampled, and not looked at since the batch was full. */
  readonly surplus: readonly GroupOrigin[]
  /** Rounds that were looked at, the first included. */
  readonly roundsUsed: number
  /** `missing` groups are to be sampled in the next round, or were not found in the rounds there may be. */
  readonly next: { kind: 'full' } | { kind: 'sample'; missing: number } | { kind: 'exhausted'; missing: number }
}

/**
 * Selects the groups of a batch of `needed`, given the groups of all rounds so far: groups with equal rewards (after the overlong
 * penalty) and incomplete groups are dropped. Called after each round with all rounds, so that the result depends only on round
 * and position, never on arrival.
 *
 * Without dynamic sampling (`degenerate: 'keep'`) equal groups stay and only incomplete ones are replaced.
 *
 * @example
 * const { kept, next } = selectGroups({ needed: 2, rounds: [[[1, 1], [1, 0]]], maxResampleRounds: 3, degenerate: 'drop' })
 * kept // [{ round: 0, place: 1 }]
 * next // { kind: 'sample', missing: 1 }
 */
export function selectGroups(options: {
  needed: number
  /** `rounds[round][place]`: the rewards of a group's members. */
  rounds: readonly (readonly (ArrayLike<number> | 'incomplete')[])[]
  /** Rounds after the first. */
  maxResampleRounds: number
  degenerate: 'drop' | 'keep'
}): GroupSelection {
  const { needed, rounds, maxResampleRounds, degenerate } = options
  const kept: GroupOrigin[] = []
  const droppedEqual: GroupOrigin[] = []
  const droppedIncomplete: GroupOrigin[] = []
  const surplus: GroupOrigin[] = []
  let roundsUsed = 0
  for (const [round, groups] of rounds.entries()) {
    if (kept.length < needed && round <= maxResampleRounds) roundsUsed = round + 1
    for (const [place, rewards] of groups.entries()) {
      const origin = { round, place }
      if (kept.length >= needed || round > maxResampleRounds) surplus.push(origin)
      else if (rewards === 'incomplete') droppedIncomplete.push(origin)
      else if (degenerate === 'drop' && allEqual(rewards)) droppedEqual.push(origin)
      else kept.push(origin)
    }
  }
  const missing = needed - kept.length
  const next =
    missing <= 0
      ? ({ kind: 'full' } as const)
      : { kind: rounds.length <= maxResampleRounds ? ('sample' as const) : ('exhausted' as const), missing }
  return { kept, droppedEqual, droppedIncomplete, surplus, roundsUsed, next }
}

/** A sample of a group that was asked for: it has its reward, or was lost on the way. */
export type GroupMember = { readonly sampleIndex: number; readonly outcome: 'scored' | 'lost' }

type GroupCompletion =
  /** The members that make the group, by sample index. */
  | { readonly kind: 'complete'; readonly sampleIndices: readonly number[] }
  /** Further samples of the same prompt to ask for. */
  | { readonly kind: 'sample'; readonly sampleIndices: readonly number[] }
  /** It stays short after all samples it may have: dropped whole. */
  | { readonly kind: 'drop'; readonly lost: number }

/**
 * What to do with a group with failed samples. The next sample indices of the same prompt replace them; a smaller group is never
 * used, because its baseline would be biased if failures depend on the reward.
 *
 * @example
 * completeGroup({
 *   members: [{ sampleIndex: 0, outcome: 'scored' }, { sampleIndex: 1, outcome: 'lost' }],
 *   nSamplesPerPrompt: 2,
 *   maxSamples: 4,
 * }) // { kind: 'sample', sampleIndices: [2] }
 */
export function completeGroup(options: {
  /** Every sample asked for so far. */
  members: readonly GroupMember[]
  nSamplesPerPrompt: number
  /** Samples a group may ask for in all, those lost included. */
  maxSamples: number
}): GroupCompletion {
  const { members, nSamplesPerPrompt, maxSamples } = options
  const scored = members.filter(({ outcome }) => outcome === 'scored').map(({ sampleIndex }) => sampleIndex)
  scored.sort((a, b) => a - b)
  // Should more have come than are needed, those of the smallest indices are the group, whichever came first.
  if (scored.length >= nSamplesPerPrompt) return { kind: 'complete', sampleIndices: scored.slice(0, nSamplesPerPrompt) }
  const missing = nSamplesPerPrompt - scored.length
  if (members.length + missing > maxSamples) return { kind: 'drop', lost: members.length - scored.length }
  const first = members.reduce((highest, { sampleIndex }) => Math.max(highest, sampleIndex), -1) + 1
  return { kind: 'sample', sampleIndices: Array.from({ length: missing }, (_, i) => first + i) }
}
