/** Acts, scoring again, chats. Types of `../api.ts`. */

// ---- acts

/** Options that an act can change, by dotted key of the config: of reinforcement learning, and of trainings on rows. */
export const changeableOptions = {
  rl: ['optimizer.lr', 'klController.coef', 'temperature', 'evaluation.every'],
  rows: ['optimizer.lr', 'evalSteps'],
} as const
export type ChangeableOption = (typeof changeableOptions)[keyof typeof changeableOptions][number]

export type ActRequest =
  | { readonly act: 'pause' }
  | { readonly act: 'resume' }
  /** After the current iteration or step; a checkpoint is saved and the run can be resumed. */
  | { readonly act: 'stop' }
  /** At the end of the current iteration or step. */
  | { readonly act: 'checkpoint' }
  /** From the next iteration or step on. */
  | { readonly act: 'set'; readonly option: ChangeableOption; readonly value: number }
  /** The prompt of this row is not used any more; `restore` undoes it. */
  | { readonly act: 'drop-prompt'; readonly promptId: string }
  | { readonly act: 'restore-prompt'; readonly promptId: string }
  /** This sample does not count if its iteration has not been trained yet, nor when the iteration is made again. */
  | { readonly act: 'drop-sample'; readonly promptId: string; readonly sample: number; readonly iteration: number }

export interface ActAnswer {
  /** What the run will do, in words. */
  readonly message: string
  /** The iteration or step from which on it counts. */
  readonly from: number
}

interface RecordedAct {
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
  /** What the run counts. */
  readonly unit: 'iteration' | 'step'
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
  /** What the reward was not told. */
  readonly note: string | null
  readonly mean: { readonly before: number | null; readonly after: number | null }
  /** Samples whose reward changed. */
  readonly changed: number
  /** Groups whose best sample is another one now. */
  readonly otherBest: number
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
