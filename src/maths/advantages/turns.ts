/** Turns of an episode: discounts between them, rewards at their ends, and comparisons of turns that acted in the same state (GiGPO). */
import type { EstimatorDefinition } from './define-estimator.js'

/** One turn of an episode. */
export interface RolloutTurn {
  /** Tokens that were sampled in it. */
  readonly length: number
  /** Of this turn alone. What the episode earned beyond the rewards of its turns belongs to the last one. */
  readonly reward?: number | undefined
  /** The state that the turn acted in. */
  readonly stateKey?: string | undefined
}

interface Episode {
  readonly length: number
  readonly turns?: readonly RolloutTurn[] | undefined
}

/** The discount of what follows each token: `gamma`, and `turnGamma` on top at the end of a turn. */
export function tokenDiscounts(
  { length, turns = [] }: Episode,
  { gamma, turnGamma }: { readonly gamma: number; readonly turnGamma: number },
): Float64Array {
  const discounts = new Float64Array(length).fill(gamma)
  if (turnGamma === 1) return discounts
  let end = 0
  for (const turn of turns) {
    end += turn.length
    if (turn.length > 0 && end < length) discounts[end - 1]! *= turnGamma
  }
  return discounts
}

/** The rewards of all turns; what is left of the whole reward is at the last one. */
export function turnRewards(turns: readonly RolloutTurn[], reward: number): Float64Array {
  const rewards = Float64Array.from(turns, turn => turn.reward ?? 0)
  const given = rewards.reduce((sum, one) => sum + one, 0)
  if (rewards.length > 0) rewards[rewards.length - 1]! += reward - given
  return rewards
}

/** Moves the rewards of turns from the last token to the last tokens of their turns. The sum stays. */
export function spreadTurnRewards(rewards: Float64Array, turns: readonly RolloutTurn[]): void {
  let end = 0
  for (const { length, reward = 0 } of turns) {
    end += length
    if (length === 0 || end >= rewards.length || reward === 0) continue
    rewards[end - 1]! += reward
    rewards[rewards.length - 1]! -= reward
  }
}

/**
 * GiGPO: the return of each turn, compared with those of all turns of its group that acted in the same state. A state that was met once
 * gives 0. One number per turn of each sample.
 */
export function stepAdvantages(options: {
  readonly samples: readonly { readonly reward: number; readonly turns?: readonly RolloutTurn[] | undefined }[]
  /** Places of the samples of each prompt. */
  readonly groups: readonly (readonly number[])[]
  readonly turnGamma: number
  readonly shape: (returns: Float64Array) => ReturnType<EstimatorDefinition['shape']>
}): Float64Array[] {
  const { samples, groups, turnGamma, shape } = options
  const advantages = samples.map(({ turns = [] }) => new Float64Array(turns.length))
  const returns = samples.map(({ turns = [], reward }) => {
    const found = turnRewards(turns, reward)
    for (let t = found.length - 2; t >= 0; t--) found[t]! += turnGamma * found[t + 1]!
    return found
  })
  for (const places of groups) {
    const states = new Map<string, { place: number; turn: number }[]>()
    for (const place of places)
      for (const [turn, { stateKey }] of (samples[place]!.turns ?? []).entries()) {
        if (stateKey === undefined) continue
        const met = states.get(stateKey) ?? []
        states.set(stateKey, met)
        met.push({ place, turn })
      }
    for (const met of states.values()) {
      if (met.length < 2) continue
      const shaped = shape(Float64Array.from(met, ({ place, turn }) => returns[place]![turn]!))
      for (const [i, { place, turn }] of met.entries()) advantages[place]![turn] = shaped[i]!
    }
  }
  return advantages
}

/** Adds a number per turn to all tokens of the turn. */
export function addToTurns(tokens: Float64Array, turns: readonly RolloutTurn[], added: ArrayLike<number>): void {
  let at = 0
  for (const [turn, { length }] of turns.entries()) for (let t = 0; t < length; t++) tokens[at++]! += added[turn]!
}
