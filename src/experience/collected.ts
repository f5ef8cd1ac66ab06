/** Samples that have their rewards, in whole groups. */
import type { DataRow } from '../data/index.js'
import type { Turn } from '../environment/index.js'
import type { PolicyVersion } from '../model/index.js'
import type { CombinedReward } from '../reward/index.js'
import type { Sample } from '../rollout/index.js'
import { type Sequence, trainedCount } from '../sequence/index.js'
import type { Dropped, SampleTexts } from './experience.js'
import type { EncodedPrompt, PromptCounts } from './prompts.js'

/** What the engine says of a sample: of an episode, of all its turns together. */
export type SampleFacts = Pick<Sample, 'sample' | 'finishReason' | 'policyVersion' | 'versions' | 'logprobs' | 'unread'>

/** A sample with its reward and the texts the reward saw. */
export interface ScoredSample {
  readonly prompt: EncodedPrompt
  /** Prompt and response. Of an episode: its first segment. */
  readonly sequence: Sequence<DataRow>
  /** Further segments of an episode, where the chat template rewrote the conversation. */
  readonly further?: readonly Sequence<DataRow>[]
  /** The turns of an episode. */
  readonly turns?: readonly Turn[]
  readonly sample: SampleFacts
  readonly texts: SampleTexts
  readonly reward: CombinedReward
}

/** All that training reads of a sample. */
export function sequencesOf({ sequence, further = [] }: Pick<ScoredSample, 'sequence' | 'further'>) {
  return [sequence, ...further]
}

/** Sampled tokens. */
export function sampledCount(sample: Pick<ScoredSample, 'sequence' | 'further'>): number {
  return sequencesOf(sample).reduce((sum, sequence) => sum + trainedCount(sequence), 0)
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
