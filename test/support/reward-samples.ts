import { type RewardInput, textRewardInput } from '../../src/reward/index.js'

/** A sample with a text, an id of its own, and whatever else a test wants to say. */
export function sample(response: string, more: Partial<RewardInput> = {}): RewardInput {
  return { ...textRewardInput({ prompt: 'Q: ', response }), ...more }
}

export function samples(count: number, more: (i: number) => Partial<RewardInput> = () => ({})): RewardInput[] {
  return Array.from({ length: count }, (_, i) => sample(String(i), { sample: i, ...more(i) }))
}
