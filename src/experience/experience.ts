/** The result of experience generation: one record per sample, ragged, and statistics of the batch. */

import type { DataRow } from '../data/index.js'
import type { Turn } from '../environment/index.js'
import type { AdvantageInfo, Distribution } from '../maths/index.js'
import type { PolicyVersion } from '../model/index.js'
import type { Failure as GenerationFailure, Rejection, SampleLogprobs, VersionSpan } from '../rollout/index.js'
import type { Sequence } from '../sequence/index.js'

/** Without special tokens, and (raw) with them. */
export interface SampleTexts {
  readonly prompt: string
  readonly response: string
  readonly promptRaw: string
  readonly responseRaw: string
}

/** Arrays have one number per trained token of the sequence; the token that ended the response is one of them. */
export interface Experience<Row = DataRow> {
  /** What the model read and sampled, with its prompt's name and row. */
  readonly sequence: Sequence<Row>
  /** The sample's index among those of its prompt. */
  readonly sample: number
  /** The turns of an episode. */
  readonly turns?: readonly Turn[]
  /** Of an episode whose conversation the chat template rewrote: which of its sequences this is, from 0. */
  readonly segment?: number
  /** With special tokens, unless `skipSpecialTokens`; `texts` has both. */
  readonly prompt: string
  readonly response: string
  readonly texts: SampleTexts
  readonly label: string | undefined
  readonly target: string | readonly string[] | undefined
  readonly finishReason: 'stop' | 'length'
  readonly policyVersion: PolicyVersion
  readonly versions: readonly VersionSpan[]

  /** Logits were divided by it for the actor's and the reference's log-probabilities: the sampling temperature, 1 for greedy. */
  readonly temperature: number
  /** The actor's, unless its pass was left out, and their entropies where the actor gives them. */
  readonly logprobs: Float32Array | undefined
  readonly entropies: Float32Array | undefined
  /** The reference's. */
  readonly refLogprobs: Float32Array | undefined
  /** The critic's. */
  readonly values: Float32Array | undefined
  /** What the engine reported when it sampled, by its meaning. */
  readonly engineLogprobs: SampleLogprobs

  /** As the rewards gave it, and what each of them gave. */
  readonly reward: number
  readonly components: Readonly<Record<string, number>>
  readonly metrics: Readonly<Record<string, number>>
  readonly overlongPenalty: number
  /** What the last token earns. */
  readonly shapedReward: number
  /** To the reference, wherever there is one. */
  readonly kl: Float64Array | undefined
  readonly advantages: Float64Array
  readonly returns: Float64Array
  /** 1 for the tokens whose policy loss is taken: all, or those of highest entropy. */
  readonly lossMask: Uint8Array
}

/** A sample that was asked for and is not in the batch, and why. */
export interface Dropped {
  readonly promptId: string
  readonly sample: number
  readonly stage: 'generation' | 'reward' | 'group'
  readonly reason: Rejection['reason'] | GenerationFailure['reason'] | DropReason | string
  readonly message: string
}

/**
 * `aborted`: the engine cancelled it. `media`: an image or a video of the prompt cannot be used. `group-incomplete`: others of its group were lost permanently. `zero-variance`: all of its group
 * earned the same. `surplus`: the batch was full. `stale`: of weights older than may be trained on.
 */
export type DropReason = 'aborted' | 'media' | 'group-incomplete' | 'zero-variance' | 'surplus' | 'stale'

/** Wall-clock seconds of each stage. Rewards run while others still generate: `reward` is what they took beyond that. */
export interface StageSeconds {
  encoding: number
  generation: number
  reward: number
  actor: number
  reference: number
  critic: number
  advantages: number
  total: number
}

export interface ExperienceInfo extends AdvantageInfo {
  readonly prompts: number
  /** Prompts that were longer than `promptMaxLen`: those that were cut, and those that were left out. */
  readonly promptsCut: number
  readonly promptsLeftOut: number
  /** Means over samples, by the reward source's and the metric's name. */
  readonly components: Readonly<Record<string, number>>
  readonly metrics: Readonly<Record<string, number>>
  readonly totalLength: Distribution | undefined
  /** Mean over tokens. */
  readonly entropy: number | undefined
  /** Share of responses that were cut at `maxNewTokens`. */
  readonly truncatedShare: number
  /** How many samples were dropped, by reason. */
  readonly drops: Readonly<Record<string, number>>
  /** Tokens of responses that were masked (`mediaRepair`), by reason. */
  readonly repairs: Readonly<Record<string, number>>
  /** Rounds of dynamic sampling, the first included. */
  readonly rounds: number
  /** Groups that could not be filled within `maxResampleRounds`. */
  readonly missingGroups: number
  readonly seconds: StageSeconds
  /** Response tokens of the batch by the seconds of generation, and by all. */
  readonly generatedTokensPerSecond: number
  readonly tokensPerSecond: number
  /** Share of the rows of padded batches that packing does not compute; 0 without packing. */
  readonly paddingAvoided: number
  /** Share of the time of reward calls during which others were still generated. */
  readonly rewardOverlap: number
}

export interface ExperienceBatch<Row = DataRow> {
  readonly experiences: readonly Experience<Row>[]
  readonly info: ExperienceInfo
  readonly dropped: readonly Dropped[]
}
