/** Statistics of a batch of experiences, for logs. Pure. */

import { type AdvantageInfo, distribution, tokenStatistics } from '../maths/index.js'
import type { Collected, ScoredSample } from './collected.js'
import type { ExperienceConfig } from './config.js'
import type { Dropped, ExperienceInfo, StageSeconds } from './experience.js'
import { paddingShare } from './inference.js'
import { countRepairs } from './media-tokens.js'

export function batchInfo(options: {
  advantages: AdvantageInfo
  samples: readonly ScoredSample[]
  entropies: readonly (Float32Array | undefined)[]
  collected: Pick<Collected, 'rounds' | 'missingGroups' | 'rewardOverlap' | 'groups' | 'promptCounts'>
  dropped: readonly Dropped[]
  seconds: StageSeconds
  /** How sequences were scored. */
  scoring: Pick<ExperienceConfig, 'microRolloutBatchSize' | 'packingSamples'>
}): ExperienceInfo {
  const { advantages, samples, entropies, collected, dropped, seconds, scoring } = options
  const lengths = samples.map(({ sequence }) => sequence.ids.length)
  const { tokens } = advantages
  return {
    ...advantages,
    prompts: collected.groups.length,
    promptsCut: collected.promptCounts.cut,
    promptsLeftOut: collected.promptCounts.leftOut,
    components: means(samples.map(({ reward }) => reward.components)),
    metrics: means(samples.map(({ reward }) => reward.metrics)),
    totalLength: distribution(lengths),
    entropy: tokenStatistics(entropies.filter(each => each !== undefined))?.mean,
    truncatedShare:
      samples.length === 0
        ? 0
        : samples.filter(({ sample }) => sample.finishReason === 'length').length / samples.length,
    drops: counted(dropped.map(({ stage, reason }) => (stage === 'group' ? reason : `${stage}: ${reason}`))),
    repairs: countRepairs(samples),
    rounds: collected.rounds,
    missingGroups: collected.missingGroups,
    seconds,
    generatedTokensPerSecond: seconds.generation === 0 ? 0 : tokens / seconds.generation,
    tokensPerSecond: seconds.total === 0 ? 0 : tokens / seconds.total,
    paddingAvoided: scoring.packingSamples ? paddingShare(lengths, scoring.microRolloutBatchSize) : 0,
    rewardOverlap: collected.rewardOverlap,
  }
}

/** The mean of each name over those that have it. */
function means(records: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums = new Map<string, { sum: number; count: number }>()
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) {
      const known = sums.get(name) ?? { sum: 0, count: 0 }
      sums.set(name, { sum: known.sum + value, count: known.count + 1 })
    }
  }
  return Object.fromEntries([...sums].map(([name, { sum, count }]) => [name, sum / count]))
}

function counted(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
