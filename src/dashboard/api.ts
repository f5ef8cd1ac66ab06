/**
 * What the dashboard's server and its page say to each other: every route with the JSON of its question and its answer. Types alone; the
 * page bundles nothing of the server.
 *
 * All routes but `login` need the token: in the cookie that `login` sets, or in the header `Authorization: Bearer TOKEN`. Never in a URL.
 * Requests that change something are `POST` with `Content-Type: application/json`.
 * An error is status 4xx or 5xx with an {@link ErrorAnswer}. A number that is NaN or infinite is `null` in JSON.
 *
 * `:run` is the name of {@link RunSummary}, with `encodeURIComponent`. `:sample` is {@link SampleRow.id}, likewise.
 */

/** Every route: method and path, the query or body it takes, and what it answers with. */
export interface Routes {
  'POST /api/login': { body: LoginRequest; answer: Session }
  'GET /api/session': { answer: Session }
  'GET /api/runs': { answer: RunsAnswer }
  'GET /api/runs/:run': { answer: RunDetail }
  'GET /api/runs/:run/metrics': { answer: MetricsAnswer }
  'GET /api/runs/:run/curves': { query: CurvesQuery; answer: CurvesAnswer }
  'GET /api/runs/:run/stages': { query: StagesQuery; answer: StagesAnswer }
  'GET /api/runs/:run/samples': { query: SamplesQuery; answer: SamplesAnswer }
  'GET /api/runs/:run/samples/:sample': { answer: SampleDetail }
  'GET /api/runs/:run/samples/:sample/tokens': { answer: TokensAnswer }
  /** The bytes of a picture of the sample, with its media type. `N` counts {@link SampleDetail.media}, from 0. */
  'GET /api/runs/:run/samples/:sample/media/:n': { answer: Bytes }
  'GET /api/runs/:run/groups': { query: GroupsQuery; answer: GroupsAnswer }
  'GET /api/runs/:run/distributions': { query: DistributionsQuery; answer: DistributionsAnswer }
  'GET /api/runs/:run/alerts': { answer: AlertsAnswer }
  'GET /api/runs/:run/acts': { answer: ActsAnswer }
  'POST /api/runs/:run/acts': { body: ActRequest; answer: ActAnswer }
  'POST /api/runs/:run/rescore': { body: RescoreRequest; answer: RescoreAnswer }
  'GET /api/runs/:run/flags': { answer: FlagsAnswer }
  'POST /api/runs/:run/flags': { body: FlagRequest; answer: FlagsAnswer }
  'POST /api/runs/:run/pairs': { body: PairRequest; answer: FlagsAnswer }
  /** A file to download, one JSON object a line ({@link ExportedSample} or {@link ExportedPair}). */
  'GET /api/runs/:run/export': { query: { what: 'flags' | 'pairs' }; answer: Bytes }
  'GET /api/runs/:run/chat': { answer: ChatModelsAnswer }
  /** A stream of lines, each a {@link ChatLine}. A request that is aborted ends the generation. */
  'POST /api/runs/:run/chat': { body: ChatRequest; answer: Lines<ChatLine> }
  /** Server-sent events: `data` is a {@link LiveEvent}. With `run` also what happens in that run. */
  'GET /api/events': { query: { run?: string }; answer: Lines<LiveEvent> }
}

/** A body that is not JSON. */
export type Bytes = Uint8Array
/** JSON objects that come one after another. */
export type Lines<T> = AsyncIterable<T>

export interface ErrorAnswer {
  /** For people: what was wrong and what to do. */
  readonly error: string
}

// ---- session

/** The token that the command printed; the page finds it behind the `#` of its address, which no server sees or logs. */
export interface LoginRequest {
  readonly token: string
}

export interface Session {
  readonly version: string
  /** The directory that the command was given. */
  readonly runsDirectory: string
}

// ---- runs

/** `crashed`: its process died without saying so. */
export type RunStatusName = 'running' | 'finished' | 'stopped' | 'failed' | 'crashed'

export interface RunSummary {
  /** Names the run in every other route. */
  readonly name: string
  readonly command: 'sft' | 'reward' | 'rl' | 'preference'
  /** Such as `grpo`, `dpo`, `sft`. */
  readonly kind: string
  readonly status: RunStatusName
  /** It was stopped, failed or crashed: `--resume` goes on with it. */
  readonly resumable: boolean
  /** Whether acts reach the run now; without, everything is read only. */
  readonly listening: boolean
  /** The last step, or iteration where the run counts those. */
  readonly step: number
  /** All there will be; null where it is not known. */
  readonly steps: number | null
  /** Milliseconds since 1970. */
  readonly created: number
  readonly updated: number
  /** How well it did: its last reward, accuracy or loss, and the best of it. */
  readonly headline: {
    readonly metric: string
    readonly last: number
    readonly best: number
    readonly text: string
  } | null
  /** Last values of the main metrics, by name. */
  readonly main: Readonly<Record<string, number>>
  /** Alerts that hold now. */
  readonly alerts: number
  /** Options in which the runs of the list differ, with this run's value as text. */
  readonly differences: Readonly<Record<string, string>>
}

export interface RunsAnswer {
  readonly runs: readonly RunSummary[]
  /** Directories that look like runs and cannot be read, and why. */
  readonly unreadable: readonly { readonly name: string; readonly error: string }[]
}

export interface RunDetail extends RunSummary {
  /** Resolved: every option with its value. */
  readonly config: unknown
  /** Where each value came from, by dotted key. */
  readonly origins: Readonly<Record<string, string>>
  readonly versions: Readonly<Record<string, string>>
  /** What resumes and acts have changed since, in order. */
  readonly changes: readonly {
    readonly time: string
    readonly key: string
    readonly from: unknown
    readonly to: unknown
    readonly since?: number
  }[]
  /** Steps that have a checkpoint. */
  readonly checkpoints: readonly number[]
  readonly markers: readonly Marker[]
  /** The last events, oldest first. */
  readonly events: readonly { readonly time: string; readonly kind: string; readonly [field: string]: unknown }[]
  /** How far the index of the samples is. */
  readonly index: IndexProgress
}

/** What a chart marks at a step. */
export interface Marker {
  readonly kind: 'checkpoint' | 'resumed' | 'evaluation' | 'act' | 'warning'
  readonly step: number
  readonly time: number
  readonly text: string
}

export interface IndexProgress {
  /** `none`: the run has no journal. */
  readonly state: 'none' | 'building' | 'ready'
  readonly samples: number
  /** Bytes of the journal that are indexed, and that there are. */
  readonly doneBytes: number
  readonly totalBytes: number
  readonly samplesPerSecond: number | null
  /** What of the journal cannot be read. */
  readonly problem: string | null
}

// ---- curves

export interface MetricInfo {
  readonly name: string
  /** The part before the first slash: `reward`, `kl`, `loss`. */
  readonly group: string
  readonly unit: string
  readonly meaning: string
  readonly points: number
  readonly last: number | null
  /** The last value as people read it: `1.2 GB`, `3.4 s`. */
  readonly text: string
  /** One of the few to look at first. */
  readonly main: boolean
}

export interface MetricsAnswer {
  /** What steps count. */
  readonly across: 'step' | 'iteration'
  readonly metrics: readonly MetricInfo[]
}

export interface CurvesQuery {
  /** Names, separated by commas. */
  readonly metrics: string
  /** The range of steps, both ends included. Default: all. */
  readonly from?: number
  readonly to?: number
  /** Most points of a curve; more are thinned. Default 2000. */
  readonly points?: number
}

export interface CurvesAnswer {
  readonly curves: readonly Curve[]
}

/** Where a curve is thinned, each point stands for a range of steps: its last step, the mean, and the extremes of it. */
export interface Curve {
  readonly metric: string
  readonly steps: readonly number[]
  /** Milliseconds since 1970. */
  readonly times: readonly number[]
  /** `null`: NaN or infinite. */
  readonly values: readonly (number | null)[]
  /** Undefined where every point is one step. */
  readonly low?: readonly (number | null)[]
  readonly high?: readonly (number | null)[]
}

// ---- stages

export interface StagesQuery {
  readonly from?: number
  readonly to?: number
  /** Most iterations to show; more are thinned to means. Default 400. */
  readonly points?: number
}

export interface StagesAnswer {
  /** In the order in which they happen. */
  readonly stages: readonly string[]
  readonly iterations: readonly {
    readonly step: number
    /** When its metrics were logged. */
    readonly time: number
    /** By stage; `total` is all of it. */
    readonly seconds: Readonly<Record<string, number>>
    readonly staleness: number | null
    /** Rollouts that were generated ahead of their turn, for asynchronous runs. */
    readonly queue: number | null
    readonly tokensPerSecond: number | null
    readonly memory: { readonly rss: number | null; readonly device: number | null; readonly devicePeak: number | null }
  }[]
  /** In words: the stage that took most, and its share. */
  readonly slowest: { readonly stage: string; readonly share: number; readonly text: string } | null
}

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
  readonly role: string
  readonly text: string
}

export interface SampleDetail extends Omit<SampleRow, 'prompt' | 'response'> {
  /** Whole texts, with special tokens. */
  readonly prompt: string
  readonly response: string
  /** The same as a conversation, where the chat template is known; else one turn `prompt` and one `response`. */
  readonly turns: readonly Turn[]
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

// ---- alerts

export interface Alert {
  readonly id: string
  readonly message: string
  /** What to look at. */
  readonly advice: string
  /** Metrics to show beside it. */
  readonly metrics: readonly string[]
  /** A page of the docs, and its section. */
  readonly page: string
  /** The step at which it was first said, and whether it still holds. */
  readonly step: number
  readonly holds: boolean
}

export interface AlertsAnswer {
  readonly alerts: readonly Alert[]
}

// ---- acts

/** Options that an act can change, by dotted key of the config. */
export const changeableOptions = ['optimizer.lr', 'klController.coef', 'temperature', 'evaluation.every'] as const
export type ChangeableOption = (typeof changeableOptions)[number]

export type ActRequest =
  | { readonly act: 'pause' }
  | { readonly act: 'resume' }
  /** After the current iteration; a checkpoint is saved and the run can be resumed. */
  | { readonly act: 'stop' }
  /** At the end of the current iteration. */
  | { readonly act: 'checkpoint' }
  /** From the next iteration on. */
  | { readonly act: 'set'; readonly option: ChangeableOption; readonly value: number }
  /** The prompt of this row is not used any more; `restore` undoes it. */
  | { readonly act: 'drop-prompt'; readonly promptId: string }
  | { readonly act: 'restore-prompt'; readonly promptId: string }
  /** This sample does not count if its iteration has not been trained yet, nor when the iteration is made again. */
  | { readonly act: 'drop-sample'; readonly promptId: string; readonly sample: number; readonly iteration: number }

export interface ActAnswer {
  /** What the run will do, in words. */
  readonly message: string
  /** The iteration from which on it counts. */
  readonly from: number
}

export interface RecordedAct {
  readonly time: string
  readonly from: number
  readonly act: ActRequest
  /** In words. */
  readonly text: string
}

export interface ActsAnswer {
  readonly listening: boolean
  /** Why no act reaches the run; `null` where they do. */
  readonly reason: string | null
  readonly state: 'training' | 'pausing' | 'paused' | 'stopping' | null
  /** The values of now, and what the schema allows. */
  readonly settings: readonly {
    readonly option: ChangeableOption
    readonly value: number | null
    readonly help: string
    /** Why this run cannot change it; `null` where it can. */
    readonly reason: string | null
  }[]
  readonly droppedPrompts: readonly string[]
  readonly acts: readonly RecordedAct[]
  /** Reward files that {@link RescoreRequest} may name. */
  readonly rewards: readonly string[]
}

// ---- re-scoring

export interface RescoreRequest {
  /** One of {@link ActsAnswer.rewards}. */
  readonly rewards: string
  /** Which samples: a `where` and `search` of {@link SamplesQuery}, or ids. At most `limit` of them, default 200, at most 2000. */
  readonly where?: string
  readonly search?: string
  readonly ids?: readonly string[]
  readonly limit?: number
}

export interface RescoreAnswer {
  readonly rewards: string
  readonly samples: readonly {
    readonly id: string
    readonly prompt: string
    readonly response: string
    readonly before: number | null
    readonly after: number | null
    /** How the new reward failed. */
    readonly failure: string | null
    readonly components: Readonly<Record<string, number>>
  }[]
  readonly matched: number
  readonly mean: { readonly before: number | null; readonly after: number | null }
  /** Samples whose reward changed. */
  readonly changed: number
  /** Groups whose best sample is another one now. */
  readonly otherBest: number
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

export interface ExportedSample {
  readonly prompt: string
  readonly response: string
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
  readonly prompt: string
  readonly chosen: string
  readonly rejected: string
}

// ---- chat

export interface ChatModel {
  /** `policy`: the live policy of a run that trains; else a model directory of the run, or `start`: the model it started from. */
  readonly name: string
  readonly text: string
  /** Why it cannot be used now; `null` where it can. */
  readonly reason: string | null
}

export interface ChatModelsAnswer {
  readonly models: readonly ChatModel[]
}

export interface ChatRequest {
  readonly model: string
  readonly messages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[]
  readonly temperature: number
  /** Default 256, at most 4096. */
  readonly maxNewTokens?: number
}

export type ChatLine =
  | { readonly text: string }
  | { readonly finish: 'stop' | 'length' | 'abort'; readonly tokens: number }
  | { readonly error: string }

// ---- live

/** What changed, so that a page asks for it. A slow page misses events and never delays a run. */
export type LiveEvent =
  | { readonly kind: 'runs' }
  | {
      readonly kind: 'run'
      readonly run: string
      readonly status: RunStatusName
      readonly step: number
      readonly listening: boolean
    }
  | { readonly kind: 'metrics'; readonly run: string; readonly step: number }
  | { readonly kind: 'samples'; readonly run: string; readonly samples: number }
  | { readonly kind: 'acts'; readonly run: string }
