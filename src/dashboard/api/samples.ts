/** Samples, their tokens, groups, distributions, flags and pairs. Types of `../api.ts`. */
import type { IndexProgress } from './runs.js'

// ---- samples

/** A column to sort by. `component.NAME` is one of {@link SamplesAnswer.components}. */
export type SampleColumn =
  | 'iteration'
  | 'reward'
  | 'length'
  | 'kl'
  | 'entropy'
  | 'gap'
  | 'promptLength'
  | `component.${string}`

export interface SamplesQuery {
  /**
   * Conditions, all of which hold, separated by spaces: `reward<0.5 length>=100 finish=length dropped=zero-variance`,
   * `iteration=12`, `component.format=1`, `prompt=ID`, `flagged=yes`, `trained=no`. Operators: `=`, `!=`, `<`, `<=`, `>`, `>=`.
   */
  readonly where?: string
  /** Text that the prompt or the response contains, in upper or lower case. */
  readonly search?: string
  /** Default `iteration`. */
  readonly sort?: SampleColumn
  /** Default `descending`. */
  readonly order?: 'ascending' | 'descending'
  readonly offset?: number
  /** Default 50, at most 500. */
  readonly limit?: number
}

export interface SampleRow {
  readonly id: string
  readonly iteration: number
  readonly promptId: string
  /** Its index among those of its prompt. */
  readonly sample: number
  /** The beginning of it. */
  readonly prompt: string
  readonly response: string
  /** `null`: it has none, see `dropped`. */
  readonly reward: number | null
  readonly components: Readonly<Record<string, number>>
  /** Tokens of the response, and of the prompt. */
  readonly length: number
  readonly promptLength: number
  /** Mean over its tokens; `null` where the run recorded none. */
  readonly kl: number | null
  readonly entropy: number | null
  /** Mean absolute difference between the log-probabilities of engine and trainer. */
  readonly gap: number | null
  readonly finish: 'stop' | 'length' | 'abort' | 'rejected' | 'failed'
  /** Why it was not trained on; `null` where it was, or where its iteration is not complete. */
  readonly dropped: string | null
  readonly trained: boolean
  readonly flag: Flag | null
}

export interface SamplesAnswer {
  readonly rows: readonly SampleRow[]
  /** How many match. */
  readonly total: number
  /** `false`: the search stopped before it had looked at all samples, so there are at least `total`. */
  readonly complete: boolean
  /** All names there are. */
  readonly components: readonly string[]
  readonly dropReasons: readonly string[]
  readonly index: IndexProgress
  readonly milliseconds: number
}

export interface Turn {
  /** `note`: what happened to the conversation, in words. */
  readonly role: string
  readonly text: string
  /** Of a turn of an episode: its number, calls and reward. */
  readonly note?: string
}

export interface SampleDetail extends Omit<SampleRow, 'prompt' | 'response'> {
  /** Whole texts, with special tokens. */
  readonly prompt: string
  readonly response: string
  /** The same as a conversation, where the chat template is known; else one turn `prompt` and one `response`. */
  readonly turns: readonly Turn[]
  /** The row of its prompt, as `droppedPrompts` of acts has it. */
  readonly row: string
  /** Why it was dropped, in words. */
  readonly droppedMessage: string | null
  /** What the reward sources answered: further metrics, or how they failed. */
  readonly rewardMetrics: Readonly<Record<string, number>>
  readonly rewardFailure: { readonly source: string; readonly reason: string; readonly message: string } | null
  readonly policyVersion: number | null
  readonly seed: number | null
  readonly timings: {
    readonly startedMs: number
    readonly firstTokenMs: number | null
    readonly finishedMs: number
  } | null
  readonly media: readonly {
    readonly kind: 'image' | 'video'
    readonly width: number | null
    readonly height: number | null
  }[]
  /** The record of the journal, to copy. */
  readonly record: unknown
}

/** Numbers of tokens, in the colours that a page offers. */
export const tokenNumbers = ['advantage', 'logprob', 'entropy', 'kl', 'ratio', 'gap', 'value', 'return'] as const
export type TokenNumber = (typeof tokenNumbers)[number]

export interface TokensAnswer {
  readonly promptTokens: readonly { readonly id: number; readonly text: string }[]
  /** Of the response. */
  readonly tokens: readonly { readonly id: number; readonly text: string }[]
  /** Of each response token: 0 where it was observed and not sampled. Undefined: all were sampled. */
  readonly sampled?: readonly number[]
  /** One number per response token; `null` for a token that was not trained. Missing where the run did not record it. */
  readonly numbers: Readonly<Partial<Record<TokenNumber, readonly (number | null)[]>>>
  /** Of numbers that are missing: why. */
  readonly missing: Readonly<Partial<Record<TokenNumber, string>>>
  /** What is particular about numbers that are there. */
  readonly notes: Readonly<Partial<Record<TokenNumber, string>>>
  /** Where numbers are from: `replay` derives them from the journal, `trajectory` is what the run saved. */
  readonly source: 'replay' | 'trajectory'
}

// ---- groups

export interface GroupsQuery {
  /** Default: the last one that is there. */
  readonly iteration?: number
  /** Default `spread`: the groups whose rewards differ most come first. */
  readonly sort?: 'spread' | 'best' | 'worst' | 'order'
  readonly offset?: number
  /** Default 20, at most 100. */
  readonly limit?: number
}

export interface GroupsAnswer {
  readonly iteration: number
  /** The first and the last that are there. */
  readonly iterations: { readonly first: number; readonly last: number }
  readonly total: number
  readonly groups: readonly {
    readonly promptId: string
    readonly prompt: string
    readonly mean: number | null
    readonly spread: number | null
    /** Best first. */
    readonly samples: readonly SampleRow[]
  }[]
}

// ---- distributions

export interface DistributionsQuery {
  /** Most columns of a heat map: iterations are put together. Default 200. */
  readonly columns?: number
  /** Rows of a heat map. Default 32. */
  readonly bins?: number
}

export interface HeatMap {
  /** Edges of the rows: one more than rows. */
  readonly edges: readonly number[]
  readonly columns: readonly {
    readonly from: number
    readonly to: number
    /** Samples in each row. */
    readonly counts: readonly number[]
  }[]
}

export interface DistributionsAnswer {
  readonly rewards: HeatMap
  readonly lengths: HeatMap
  /** By column of the heat maps. */
  readonly groups: readonly {
    readonly from: number
    readonly to: number
    readonly groups: number
    /** Shares of groups whose samples all have the same reward, and whose samples all have the highest reward of the run. */
    readonly zeroVariance: number
    readonly allRight: number
  }[]
  readonly drops: readonly {
    readonly from: number
    readonly to: number
    readonly reasons: Readonly<Record<string, number>>
  }[]
}

// ---- flags and pairs

export interface Flag {
  readonly label: 'good' | 'bad' | 'look'
  readonly note: string
  readonly time: string
}

export interface FlagRequest {
  readonly id: string
  /** `null` takes the flag away. */
  readonly label: Flag['label'] | null
  readonly note?: string
}

/** The better of two samples of one prompt. `better: null` takes the choice back. */
export interface PairRequest {
  readonly first: string
  readonly second: string
  readonly better: 'first' | 'second' | null
}

export interface FlagsAnswer {
  readonly flags: readonly (Flag & { readonly id: string })[]
  readonly pairs: readonly { readonly chosen: string; readonly rejected: string; readonly time: string }[]
}

/** A prompt as trainings read it: messages where a chat template made it, which the training's template makes again. */
type ExportedText = string | readonly { readonly role: string; readonly [field: string]: unknown }[]

export interface ExportedSample {
  readonly prompt: ExportedText
  readonly response: ExportedText
  readonly reward: number | null
  readonly label: Flag['label']
  readonly note: string
  readonly run: string
  readonly iteration: number
  readonly prompt_id: string
  readonly sample: number
}

/** A row of preference data, as `whetstone dpo` and `whetstone reward train` read it. */
export interface ExportedPair {
  readonly prompt: ExportedText
  readonly chosen: ExportedText
  readonly rejected: ExportedText
}
