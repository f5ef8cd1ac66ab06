/** Counts rows that are too long by encoding all data, for dry runs. */
import {
  DataError,
  type Dataset,
  type ExampleKind,
  patchesOf,
  promptWithMedia,
  type RowProcessor,
  sequencesOf,
} from '../../data/index.js'
import { ProblemList } from '../../errors/index.js'
import type { PromptCounts } from '../../experience/index.js'
import { firstTrained } from '../../sequence/index.js'
import { fitPrompt, type Tokenizer } from '../../text/index.js'
import type { SequenceLength } from './largest-batch.js'
import type { PlannedGeneration } from './plan.js'

/** Examples of an epoch over a limit: those that are cut to it, and those that are left out. */
export interface TooLong extends PromptCounts {
  readonly option: 'maxLength' | 'promptMaxLen'
  /** In tokens. */
  readonly limit: number
  /** Of every sequence of the rows, or of every prompt. */
  readonly lengths: readonly SequenceLength[]
}

interface CountOptions {
  readonly tokenizer: Tokenizer
  /** Tokens that an example may have, or a prompt where prompts are answered. */
  readonly limit: number
  /** Where prompts are answered. */
  readonly generation: Pick<PlannedGeneration, 'promptTruncation'> | undefined
  readonly signal: AbortSignal
  /** What reads the images and videos of prompts. */
  readonly processor?: RowProcessor | null | undefined
}

/** Examples that are encoded before the signal is looked at. */
const part = 64

/** Data without any usable row is an error, as in the run; so are bad rows, all of them together. */
export function countTooLong(dataset: Dataset<ExampleKind>, options: CountOptions): Promise<TooLong> {
  return dataset.collectingBadRows(() => countAll(dataset, options))
}

/** Finds the bad rows among those that are held out. */
export async function encodeHeldOut(
  dataset: Dataset<ExampleKind>,
  tokenizer: Tokenizer,
  signal?: AbortSignal,
): Promise<void> {
  const heldOut = dataset.validation(tokenizer)
  if (heldOut) for await (const _ of heldOut.parts(part)) signal?.throwIfAborted()
}

async function countAll(dataset: Dataset<ExampleKind>, options: CountOptions): Promise<TooLong> {
  const { tokenizer, generation, limit, processor, signal } = options
  const rows = dataset.train(tokenizer)
  const counts = { cut: 0, leftOut: 0 }
  const lengths: SequenceLength[] = []
  const unusable: { where: string; message: string }[] = []
  while (rows.cursor.epoch === 0) {
    signal.throwIfAborted()
    for (const example of await rows.take(part)) {
      if (!('prompt' in example))
        for (const sequence of sequencesOf(example))
          lengths.push({
            tokens: sequence.ids.length,
            outputs: sequence.ids.length - firstTrained(sequence),
            patches: patchesOf(sequence.media),
          })
      if (!generation || !('prompt' in example)) continue
      const seen = await promptWithMedia(example, { tokenizer, processor })
      if (seen && 'message' in seen) {
        unusable.push({ where: example.where, message: seen.message })
        continue
      }
      if (seen) {
        // Prompts with media are not cut.
        if (seen.length > limit) counts.leftOut++
        else lengths.push({ tokens: seen.length, outputs: 0, patches: seen.patches })
        continue
      }
      const fitted = await fitPrompt(example.prompt, { tokenizer, limit, side: generation.promptTruncation })
      if (fitted.kind === 'too-long') counts.leftOut++
      else {
        lengths.push({ tokens: fitted.ids.length, outputs: 0 })
        if (fitted.cut > 0) counts.cut++
      }
    }
  }
  await encodeHeldOut(dataset, tokenizer, signal)
  if (unusable.length > 0) throw unusableMedia(unusable)
  if (!generation)
    return {
      option: 'maxLength',
      limit,
      cut: rows.counts.truncated,
      leftOut: rows.counts.dropped.overlong ?? 0,
      lengths,
    }
  if (counts.leftOut > 0 && counts.leftOut >= rows.size)
    throw new DataError(
      `data: all ${rows.size} prompts are longer than promptMaxLen (${limit} tokens) and are skipped; raise promptMaxLen, lower maxNewTokens, or cut prompts (promptTruncation)`,
    )
  return { option: 'promptMaxLen', limit, ...counts, lengths }
}

/** All of them at once. */
function unusableMedia(found: readonly { readonly where: string; readonly message: string }[]): DataError {
  const problems = new ProblemList()
  for (const { where, message } of found) problems.add(where, message)
  const what = found.length === 1 ? 'a prompt has' : `${found.length} prompts have`
  return new DataError([`data: ${what} images or videos that cannot be used`, ...problems.lines].join('\n'))
}
