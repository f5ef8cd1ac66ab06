/** Images and videos of a step: the rows of their placeholders, and rope positions along three axes. Pure. */
import type { VisionConfig } from '../../decoder/index.js'
import {
  distinctPixels,
  firstRows,
  type MediaPositions,
  mediaProblem,
  placeholders,
  positionsOf,
} from '../../model/index.js'
import type { MediaItem, MediaPixels } from '../../sequence/index.js'
import type { Refusal } from './input-processor.js'
import type { StepBatch } from './step.js'

/** The images and videos of a prompt. */
export interface PromptMedia {
  items: readonly MediaItem[]
  positions: MediaPositions
  /** After the last placeholder: tokens from here on have one position for all axes. */
  end: number
}

/** What a step with placeholders has beside the arrays of text. */
export interface StepMedia {
  pixels: readonly MediaPixels[]
  /** Rows of placeholders, and for each its row of the vision tower, item after item in the order of `pixels`. */
  rows: Int32Array
  features: Int32Array
  /** Rope positions of all rows: time, then height, then width. */
  ropePositions: Int32Array
}

/** The media of a prompt, or why there is no answer to it. */
export function promptMedia(
  ids: Int32Array,
  items: readonly MediaItem[],
  vision: VisionConfig | undefined,
): PromptMedia | Refusal | undefined {
  const kind = 'rejected'
  if (!vision) {
    if (items.length === 0) return undefined
    return { kind, reason: 'media-unsupported', message: 'this engine takes only text, no images or videos' }
  }
  const problem = mediaProblem(ids, items, vision)
  if (problem) return { kind, reason: 'media-mismatch', message: problem }
  if (items.length === 0) return undefined
  try {
    const end = Math.max(...items.flatMap(({ runs }) => runs.map(({ start, count }) => start + count)))
    return { items, positions: positionsOf(ids.length, items, vision), end }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { kind, reason: 'media-mismatch', message: error.message }
  }
}

/** Rows `start..start + count` of a sequence, where they begin in the batch, and the media of its prompt. */
export interface MediaWork {
  start: number
  count: number
  row: number
  media: PromptMedia
}

/** Undefined where no row is a placeholder: text has one position for all axes. */
export function stepMedia(
  batch: Pick<StepBatch, 'ropePositions'>,
  works: readonly MediaWork[],
  vision: VisionConfig,
): StepMedia | undefined {
  const within = works.filter(({ start, media }) => start < media.end)
  if (within.length === 0) return undefined
  const touched = within.map(({ start, count, media }) =>
    media.items.filter(({ runs }) => runs.some(run => run.start < start + count && run.start + run.count > start)),
  )
  const pixels = distinctPixels(touched)
  if (pixels.length === 0) return undefined
  const first = firstRows(pixels, vision)
  const total = batch.ropePositions.length
  const ropePositions = new Int32Array(3 * total)
  for (let axis = 0; axis < 3; axis++) ropePositions.set(batch.ropePositions, axis * total)
  const [rows, features]: [number[], number[]] = [[], []]
  for (const [i, { start, count, row, media }] of within.entries()) {
    const { time, height, width } = media.positions
    for (const [axis, own] of [time, height, width].entries())
      ropePositions.set(own.subarray(start, start + count), axis * total + row)
    for (const { at, row: feature } of placeholders(touched[i]!, first))
      if (at >= start && at < start + count) {
        rows.push(row + at - start)
        features.push(feature)
      }
  }
  return { pixels, rows: Int32Array.from(rows), features: Int32Array.from(features), ropePositions }
}

/** Writes the rope positions of text, and of a sequence's tokens after its media. */
export function fillRopePositions(
  media: PromptMedia | undefined,
  { start, count }: { start: number; count: number },
  into: Int32Array,
  at: number,
): void {
  const { time, delta } = media?.positions ?? { time: undefined, delta: 0 }
  const known = time ? time.subarray(start, start + count) : undefined
  if (known) into.set(known, at)
  for (let i = known?.length ?? 0; i < count; i++) into[at + i] = start + i + delta
}
