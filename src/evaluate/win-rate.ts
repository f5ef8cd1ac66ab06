/** How often one model's answers earn more than another's to the same prompts. Pure. */
import { type Interval, meanInterval } from './intervals.js'

export interface WinRate {
  /** The mean over prompts of the share of pairs that are won, a tie as half a win. */
  readonly rate: number
  /** Wilson's, at 95 %, over prompts: answers to one prompt are not independent. See `meanInterval`. */
  readonly interval: Interval
  /** Prompts that both models have rewards for. */
  readonly prompts: number
  /** Prompts without a reward on one of the sides. */
  readonly missing: number
  /** Pairs: every answer of one model with every answer of the other to the same prompt. */
  readonly wins: number
  readonly ties: number
  readonly losses: number
}

/** Rewards of the answers to one prompt, by model; those that failed are not there. */
interface Duel {
  readonly rewards: readonly number[]
  readonly otherRewards: readonly number[]
}

/** Undefined where no prompt has rewards on both sides. */
export function winRate(duels: readonly Duel[]): WinRate | undefined {
  let [wins, ties, losses] = [0, 0, 0]
  const shares: number[] = []
  for (const { rewards, otherRewards } of duels) {
    if (rewards.length === 0 || otherRewards.length === 0) continue
    let points = 0
    for (const reward of rewards)
      for (const other of otherRewards) {
        if (reward > other) wins++
        else if (reward === other) ties++
        else losses++
        points += reward > other ? 1 : reward === other ? 0.5 : 0
      }
    shares.push(points / (rewards.length * otherRewards.length))
  }
  if (shares.length === 0) return undefined
  const { mean: rate, interval } = meanInterval(shares)
  const prompts = shares.length
  return { rate, interval, prompts, missing: duels.length - prompts, wins, ties, losses }
}
