import { loadRewards, type RewardInput, textRewardInput } from '../../src/reward/index.js'

/** A sample with a text, an id of its own, and whatever else a test wants to say. */
export function sample(response: string, more: Partial<RewardInput> = {}): RewardInput {
  return { ...textRewardInput({ prompt: 'Q: ', response }), ...more }
}

export function samples(count: number, more: (i: number) => Partial<RewardInput> = () => ({})): RewardInput[] {
  return Array.from({ length: count }, (_, i) => sample(String(i), { sample: i, ...more(i) }))
}

/** What the rewards of a file give: numbers, or why there is none. */
export async function rewardsOf(file: string, inputs: readonly RewardInput[]): Promise<(number | string)[]> {
  const engine = await loadRewards(file)
  const { outcomes } = await engine.compute(inputs)
  await engine.close()
  return outcomes.map(outcome => (outcome.kind === 'scored' ? outcome.reward : outcome.reason))
}
