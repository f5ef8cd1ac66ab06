/** What trainers get of a dataset: examples as sequences, in an order that a seed decides, from any place of it. */

import type { Sequence } from '../sequence/index.js'
import type { Tokenizer } from '../text/index.js'
import type { RowProcessor } from './media-rows.js'
import type { FilePrompt } from './prompts.js'

/** What a row of data is for. */
export type ExampleKind = 'conversations' | 'preferences' | 'labelled' | 'prompts'

/**
 * The sequences of an example are named by its row: a hash of it, with `#2` where the row is there a second time, and the number of
 * the pair where a row has several.
 */
interface Located {
  /** File and line. */
  readonly where: string
}

export interface ConversationExample extends Located {
  readonly sequence: Sequence
  /** Its end was cut off. */
  readonly truncated: boolean
}

/** Two answers to one prompt, with which both begin. The answers are trained. */
export interface PreferenceExample extends Located {
  readonly chosen: Sequence
  readonly rejected: Sequence
  readonly margin?: number
}

export interface LabelledExample extends Located {
  /** A prompt and its answer, which is trained. */
  readonly sequence: Sequence
  readonly desirable: boolean
}

/** A text prompt is one user turn where the tokenizer has a chat template. */
export type PromptExample = FilePrompt & { readonly promptId: string }

export interface Examples {
  conversations: ConversationExample
  preferences: PreferenceExample
  labelled: LabelledExample
  prompts: PromptExample
}

/** Where a stream stands: the next example. Plain JSON, for checkpoints. */
export interface DataCursor {
  readonly epoch: number
  /** In the epoch's order. */
  readonly position: number
}

/** Examples that were cut, and rows that gave none, by reason; each row of an epoch counts. */
export interface ExampleCounts {
  readonly truncated: number
  readonly dropped: Readonly<Record<string, number>>
  /** What was wrong with the first that was dropped. */
  readonly firstDropped?: string | undefined
}

/** Epochs in an order that seed and epoch alone decide. The next examples are read and encoded while the last are trained on. */
export interface ExampleStream<E> {
  /** Examples of an epoch, before over-long ones are dropped. */
  readonly size: number
  readonly counts: ExampleCounts
  /** Of the next example. */
  readonly cursor: DataCursor
  seek(cursor: DataCursor): void
  /** Another stream of the same examples, which begins at this place. */
  from(cursor: DataCursor): ExampleStream<E>
  /**
   * The next examples: at least one, and fewer than `count` only where an epoch ends; the next call then begins the next
   * epoch. An epoch whose rows were all dropped is a {@link DataError}.
   */
  take(count: number): Promise<readonly E[]>
}

/** The same examples every time, in the order of the files. */
export interface ExampleSet<E> {
  /** Examples before over-long ones are dropped. */
  readonly size: number
  readonly counts: ExampleCounts
  parts(count: number): AsyncIterable<readonly E[]>
}

/** A row that is left out, and why. */
export interface SkippedRow {
  /** File and line. */
  readonly where: string
  /** For counting: `json`, `format`, `overlong` and so on. */
  readonly reason: string
  /** The field, what is wrong with it, and what to do. */
  readonly message: string
}

interface DataFileReport {
  readonly path: string
  readonly bytes: number
  /** Rows that can be used. */
  readonly rows: number
}

/** What a pass over all rows found. */
export interface DataReport {
  readonly files: readonly DataFileReport[]
  /** Rows that can be used. */
  readonly rows: number
  /** Rows by the format they were found to have, such as `messages` or `prompt, completion`. */
  readonly formats: Readonly<Record<string, number>>
  /** Rows that were left out, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  /** Rows that are there already. */
  readonly repeated: number
  /** Examples of an epoch, each as often as its source's weight says. */
  readonly train: number
  /** Examples that are held out. */
  readonly validation: number
}

/** Checked files of rows of one kind. */
export interface Dataset<K extends ExampleKind> {
  readonly kind: K
  readonly report: DataReport
  /** The SHA-256 of each file, by path. */
  readonly fingerprints: Readonly<Record<string, string>>
  /** Says what reads the images and videos of rows from now on. Null: the model reads text alone, and rows with media are left out. */
  readMediaWith(processor: RowProcessor | null): void
  train(tokenizer: Tokenizer): ExampleStream<Examples[K]>
  /** Undefined where nothing is held out. */
  validation(tokenizer: Tokenizer): ExampleSet<Examples[K]> | undefined
  /** Does something with many rows. Bad rows that only a tokenizer finds end it at its end, all of them together. */
  collectingBadRows<T>(work: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** What a model reads of an example: its sequence, or the chosen answer of a pair and then the rejected one. */
export function sequencesOf(example: Examples[Exclude<ExampleKind, 'prompts'>]): readonly Sequence[] {
  return 'sequence' in example ? [example.sequence] : [example.chosen, example.rejected]
}
