/** Messages between a reward process and its parent. Everything is copied; nothing is shared. */
import type { SourceOutcome } from '../outcome.js'
import type { RewardRecipe } from '../recipe.js'
import type { SourceKind, SourceLimits } from '../source.js'

/** A source of a file, as far as it can be known from outside. */
export interface SourceDescription {
  readonly name: string
  readonly kind: SourceKind
  readonly limits: SourceLimits
  readonly needsTarget: boolean
  /** Columns that every row needs. */
  readonly columns: readonly string[]
  /** Whether it asks a local model, whose last bits depend on what shares its batch. */
  readonly asksModel: boolean
}

/** Contents of a file: its sources and how they are combined. Functions stay in their process. */
export interface FileDescription {
  /** `source`: the file is one reward, and not a list of them. */
  readonly form: 'source' | 'several'
  readonly sources: readonly SourceDescription[]
  /** Whether it has a `rewardFn`, which is asked as the source after the last. */
  readonly aggregates: boolean
  readonly weights?: Readonly<Record<string, number>>
  readonly rewardRecipe?: RewardRecipe
  readonly onRewardFailure?: 'drop' | 'stop' | 'retry'
  readonly failureRetries?: number
  readonly patienceMinutes?: number
  readonly blockedMs?: number
  /** The functions it has for events. */
  readonly events: readonly string[]
}

/** To the process. It answers a `call` by `done` or `failed`, and before that by `waiting` where the reward did not answer at once. */
export type ToChild =
  | { readonly kind: 'load'; readonly file: string; readonly tokenizer: string | undefined }
  | { readonly kind: 'call'; readonly id: number; readonly source: number; readonly items: readonly unknown[] }
  /** The caller gave up the call. The process answers with `alive`. */
  | { readonly kind: 'abort'; readonly id: number }
  /** Something that the file has a function for, such as `onLate`. */
  | { readonly kind: 'event'; readonly name: string; readonly event: unknown }
  | { readonly kind: 'close' }

export type FromChild =
  | { readonly kind: 'loaded'; readonly description: FileDescription }
  | { readonly kind: 'refused'; readonly error: SentError }
  | { readonly kind: 'waiting'; readonly id: number }
  | { readonly kind: 'done'; readonly id: number; readonly outcomes: readonly SourceOutcome[] }
  | { readonly kind: 'failed'; readonly id: number; readonly error: SentError }
  | { readonly kind: 'alive' }
  /** Something failed outside of any call, such as a promise that is not awaited. */
  | { readonly kind: 'stray'; readonly error: SentError }
  /** A warning of Node, or of the file. */
  | { readonly kind: 'warning'; readonly name: string; readonly message: string; readonly code: string | undefined }
  | { readonly kind: 'closed' }

/** An error as it travels: with what a `SourceError` says of itself, and the stack in the file. */
export interface SentError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly reason?: string
  readonly repeat?: 'retryable' | 'final'
  readonly retryAfterMs?: number | undefined
}
