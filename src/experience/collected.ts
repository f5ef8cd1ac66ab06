/** Samples that have their rewards, in whole groups. */
import type { DataRow } from '../data/index.js'
import type { PolicyVersion } from '../model/index.js'
import type { CombinedReward } from '../reward/index.js'
import type { Sample } from '../rollout/index.js'
import type { Sequence } from '../sequence/index.js'
import type { Dropped, SampleTexts } from './experience.js'
import type { EncodedPrompt, PromptCounts } from './prompts.js'

/** A sample with its reward and the texts the reward saw. */
export interface ScoredSample {
  readonly prompt: EncodedPrompt
  /** Prompt and response. */
  readonly sequence: Sequence<DataRow>
  readonly sample: Sample
  readonly texts: SampleTexts
  readonly reward: CombinedReward
}

/** Samples of one prompt, by index. */
type ScoredGroup = readonly ScoredSample[]

export interface Collected {
  readonly groups: readonly ScoredGroup[]
  readonly dropped: readonly Dropped[]
  readonly rounds: number
  readonly missingGroups: number
  readonly promptCounts: PromptCounts
  readonly seconds: { readonly encoding: number; readonly generation: number; readonly reward: number }
  readonly rewardOverlap: number
}

/** Without the groups of which a sample began with weights older than `oldest`. */
export function withoutStale(collected: Collected, oldest: PolicyVersion | undefined): Collected {
  if (oldest === undefined) return collected
  const groups: ScoredGroup[] = []
  const dropped: Dropped[] = []
  for (const group of collected.groups) {
    const age = Math.min(...group.map(({ sample }) => sample.policyVersion))
    if (age >= oldest) groups.push(group)
    else
      for (const { prompt, sample } of group)
        dropped.push({
          promptId: prompt.sequence.promptId,
          sample: sample.sample,
          stage: 'generation',
          reason: 'stale',
          message: `its group started with policy version ${age}, and the oldest allowed version is ${oldest}`,
        })
  }
  if (dropped.length === 0) return collected
  return {
    ...collected,
    groups,
    dropped: [...collected.dropped, ...dropped],
    missingGroups: collected.missingGroups + collected.groups.length - groups.length,
  }
}
