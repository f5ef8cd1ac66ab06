/** Images and videos of the sequences of a batch: what is wrong with them, and where their rows are. Pure. */
import { patchesOf, tokensOf, type VisionConfig } from '../decoder/index.js'
import { type MediaPositions, mediaPositions } from '../media/index.js'
import type { MediaItem, MediaPixels } from '../sequence/index.js'
import type { BatchArrays, BatchPlan, SharedPrefix } from './batch.js'
import { idsOf, type ModelInput, mediaOf } from './model-input.js'

/** Rope positions of a sequence with media, in the model's way. */
export function positionsOf(length: number, media: readonly MediaItem[], vision: VisionConfig): MediaPositions {
  return mediaPositions({ length, media }, { mergeSize: vision.merge, videoTime: vision.videoTime })
}

/**
 * Why the placeholders among these ids are not those of the media; undefined where they are. Each placeholder belongs to one item of
 * its kind, in their order: checked for each run, and for images and videos apart.
 */
export function mediaProblem(
  ids: Int32Array,
  media: readonly MediaItem[],
  { tokens, merge, patch, temporalPatch, videoTime }: VisionConfig,
): string | undefined {
  const expected = { image: 0, video: 0 }
  let end = 0
  for (const { pixels, runs } of media) {
    const { kind, grid, frames } = pixels
    const count = runs.reduce((sum, run) => sum + run.count, 0)
    if (count !== tokensOf(grid, { merge }))
      return `the ${kind} with grid ${grid.join(' x ')} has ${tokensOf(grid, { merge })} tokens, and its runs ${count}`
    const bytes = grid[1] * grid[2] * patch * patch * 3
    const given = frames.length / bytes
    if (!Number.isInteger(given) || given < 1 || given > grid[0] * temporalPatch)
      return `the ${kind} with grid ${grid.join(' x ')} has ${frames.length} bytes, which are not whole frames of ${bytes}`
    const steps = kind === 'video' && videoTime === 'text' ? grid[0] : 1
    if (runs.length !== steps || runs.some(run => run.count !== count / steps))
      return `the ${kind} with grid ${grid.join(' x ')} has ${steps} runs of ${count / steps} tokens, got runs of ${runs.map(run => run.count).join(', ')}`
    for (const { start, count } of runs) {
      if (start < end) return `the run of a ${kind} at token ${start} begins before the one before it ends (${end})`
      end = start + count
      for (let at = start; at < end; at++)
        if (ids[at] !== tokens[kind])
          return `token ${at} should be a placeholder of ${kind} (${tokens[kind]}), got ${ids[at]}`
    }
    expected[kind] += count
  }
  const found = { image: 0, video: 0 }
  for (const id of ids) {
    if (id === tokens.image) found.image++
    if (id === tokens.video) found.video++
  }
  for (const kind of ['image', 'video'] as const)
    if (found[kind] !== expected[kind])
      return `there are ${found[kind]} placeholders of ${kind}s, and ${kind}s for ${expected[kind]} of them`
  return undefined
}

/** The different images and videos of sequences, each once. */
export function distinctPixels(media: Iterable<readonly MediaItem[]>): MediaPixels[] {
  const found = new Map<string, MediaPixels>()
  for (const items of media) for (const { pixels } of items) if (!found.has(pixels.hash)) found.set(pixels.hash, pixels)
  return [...found.values()]
}

/** Names the images and videos that begin before a position: ids alone do not tell two pictures of one size apart. */
export function mediaKey(media: readonly MediaItem[], before: number): string {
  return media
    .filter(({ runs }) => runs.some(({ start }) => start < before))
    .map(({ pixels }) => pixels.hash)
    .join()
}

export const patchCount = ({ grid }: MediaPixels): number => patchesOf(grid)

/** What a batch with media has beside the arrays of text. */
export interface BatchMedia {
  pixels: readonly MediaPixels[]
  /** Rows of the batch that are placeholders, and for each its row of the tower, item after item in the order of `pixels`. */
  rows: Int32Array
  features: Int32Array
  /** Rope positions of all rows: time, then height, then width. */
  ropePositions: Int32Array
  /** The largest of them. */
  largest: number
}

/** Undefined for a batch of text alone. */
export function fillMedia(
  plan: BatchPlan,
  inputs: readonly ModelInput[],
  arrays: BatchArrays,
  vision: VisionConfig,
  prefixes?: readonly (SharedPrefix | undefined)[],
): BatchMedia | undefined {
  const media = plan.sequences.map(index => mediaOf(inputs[index]!))
  const pixels = distinctPixels(media)
  if (pixels.length === 0) return undefined
  const total = arrays.ids.length
  const first = firstRows(pixels, vision)
  const ropePositions = new Int32Array(3 * total)
  for (let axis = 0; axis < 3; axis++) ropePositions.set(arrays.ropePositions, axis * total)
  const [rows, features]: [number[], number[]] = [[], []]
  for (const [k, items] of media.entries()) {
    if (items.length === 0) continue
    const { length } = idsOf(inputs[plan.sequences[k]!]!)
    const borrowed = prefixes?.[k]?.length ?? 0
    const start = arrays.cuSeqlens[k + 1]! - length
    const { time, height, width } = positionsOf(length, items, vision)
    for (const [axis, own] of [time, height, width].entries())
      ropePositions.set(own.subarray(borrowed), axis * total + start + borrowed)
    for (const { at, row } of placeholders(items, first))
      if (at >= borrowed) {
        rows.push(start + at)
        features.push(row)
      }
  }
  return {
    pixels,
    rows: Int32Array.from(rows),
    features: Int32Array.from(features),
    ropePositions,
    largest: ropePositions.reduce((most, position) => Math.max(most, position), 0),
  }
}

/** The first of each item's rows of the tower, by its hash. */
export function firstRows(pixels: readonly MediaPixels[], vision: VisionConfig): ReadonlyMap<string, number> {
  let next = 0
  return new Map(
    pixels.map(({ hash, grid }) => {
      const first = next
      next += tokensOf(grid, vision)
      return [hash, first]
    }),
  )
}

/** The positions of placeholders in a sequence, and the row of the tower at each. */
export function* placeholders(
  media: readonly MediaItem[],
  first: ReadonlyMap<string, number>,
): Generator<{ at: number; row: number }> {
  for (const { pixels, runs } of media) {
    let row = first.get(pixels.hash)!
    for (const { start, count } of runs) for (let at = start; at < start + count; at++, row++) yield { at, row }
  }
}
