/** Placeholder tokens of images and videos: one for each item becomes runs of as many tokens as the model reads. */
import type { MediaItem, MediaPixels } from '../sequence/index.js'
import { timeText } from './frames.js'
import { MediaError } from './media-error.js'
import { type PositionRules, runLengths } from './positions.js'

/** Media as a prompt needs them: pixels, and the times of videos. */
export interface PreparedMedia extends MediaPixels {
  /** Seconds of each step of the grid along time, of a video whose frame rate is known. */
  readonly times?: readonly number[]
}

export interface PlaceholderRules extends PositionRules {
  readonly imageId: number
  readonly videoId: number
  readonly visionStartId: number
  readonly visionEndId: number
  /** Token ids of a text, without special tokens. Only times of videos are encoded, where the model reads them as text. */
  encode(text: string): Promise<ArrayLike<number>>
}

export interface Placeholders {
  /** With one placeholder for each item, or with all of them. */
  readonly ids: ArrayLike<number>
  /** In the order of their placeholders. */
  readonly images: readonly PreparedMedia[]
  readonly videos: readonly PreparedMedia[]
}

interface ExpandedPlaceholders {
  readonly ids: Int32Array
  /** In the order of their runs. */
  readonly media: readonly MediaItem[]
  /** For each id, the index of the given id that it comes from. */
  readonly from: Int32Array
}

/**
 * Ids with a placeholder for every token of every item, and where these are. Ids that have all placeholders already, in runs that
 * fit the items, stay as they are. Ids with one for each item are expanded. Anything else is an error, because tokens and pixels
 * would not belong together.
 */
export async function expandPlaceholders(
  { ids, images, videos }: Placeholders,
  rules: PlaceholderRules,
): Promise<ExpandedPlaceholders> {
  if (typeof rules.videoTime === 'object' && videos.some(({ secondsPerGrid }) => secondsPerGrid === undefined))
    throw new MediaError('form', noTimes)
  const found = runsOf(ids, rules)
  const expanded = takeRuns(found, { images, videos }, rules)
  if (expanded && !(await isAmbiguous(ids, expanded, rules)))
    return { ids: Int32Array.from(ids), media: expanded, from: Int32Array.from(ids, (_, at) => at) }
  const singles = { image: images.length, video: videos.length }
  const counts = { image: 0, video: 0 }
  for (const { kind, count } of found) counts[kind] += count
  if (counts.image !== singles.image || counts.video !== singles.video) throw mismatch(found, { images, videos }, rules)
  return expand(ids, { images, videos }, rules)
}

const noTimes = 'this model reads the times of videos, and the frame rate of a video is unknown; give its fps'

interface Run {
  readonly kind: MediaPixels['kind']
  readonly start: number
  readonly count: number
}

function kindOf(id: number | undefined, { imageId, videoId }: PlaceholderRules): MediaPixels['kind'] | undefined {
  return id === imageId ? 'image' : id === videoId ? 'video' : undefined
}

function runsOf(ids: ArrayLike<number>, rules: PlaceholderRules): Run[] {
  const runs: Run[] = []
  for (let at = 0; at < ids.length; at++) {
    const kind = kindOf(ids[at], rules)
    if (!kind) continue
    const start = at
    while (ids[at + 1] === ids[start]) at++
    runs.push({ kind, start, count: at + 1 - start })
  }
  return runs
}

type Media = Pick<Placeholders, 'images' | 'videos'>

/** The items with their runs, if every run fits. */
function takeRuns(runs: readonly Run[], { images, videos }: Media, rules: PlaceholderRules): MediaItem[] | undefined {
  const left = { image: [...images], video: [...videos] }
  const items: MediaItem[] = []
  for (let at = 0; at < runs.length; ) {
    const pixels = left[runs[at]!.kind].shift()
    if (!pixels) return undefined
    const lengths = runLengths(pixels, rules)
    const taken = runs.slice(at, at + lengths.length)
    if (taken.length < lengths.length) return undefined
    if (taken.some(({ kind, count }, i) => kind !== pixels.kind || count !== lengths[i])) return undefined
    items.push({ pixels, runs: taken.map(({ start, count }) => ({ start, count })) })
    at += lengths.length
  }
  return left.image.length + left.video.length === 0 ? items : undefined
}

/** A single token of a video with one step may stand for the whole video: then its time is not before it. */
async function isAmbiguous(
  ids: ArrayLike<number>,
  items: readonly MediaItem[],
  rules: PlaceholderRules,
): Promise<boolean> {
  if (rules.videoTime !== 'text') return false
  for (const { pixels, runs } of items) {
    if (pixels.kind === 'image' || runs.length > 1 || runs[0]!.count > 1) continue
    const before = [...(await timeIds(pixels, 0, rules)), rules.visionStartId]
    if (before.some((id, i) => ids[runs[0]!.start - before.length + i] !== id)) return true
  }
  return false
}

async function expand(ids: ArrayLike<number>, media: Media, rules: PlaceholderRules): Promise<ExpandedPlaceholders> {
  const left = { image: [...media.images], video: [...media.videos] }
  const expanded: number[] = []
  const from: number[] = []
  const items: MediaItem[] = []
  for (let at = 0; at < ids.length; at++) {
    const id = ids[at]!
    const kind = kindOf(id, rules)
    if (!kind) {
      expanded.push(id)
      from.push(at)
      continue
    }
    const pixels = left[kind].shift()!
    const withTimes = kind === 'video' && rules.videoTime === 'text'
    const runs: MediaItem['runs'][number][] = []
    for (const [step, count] of runLengths(pixels, rules).entries()) {
      if (withTimes) expanded.push(...(await timeIds(pixels, step, rules)), rules.visionStartId)
      runs.push({ start: expanded.length, count })
      for (let i = 0; i < count; i++) expanded.push(id)
      if (withTimes) expanded.push(rules.visionEndId)
    }
    items.push({ pixels, runs })
    while (from.length < expanded.length) from.push(at)
  }
  return { ids: Int32Array.from(expanded), media: items, from: Int32Array.from(from) }
}

async function timeIds({ times }: PreparedMedia, step: number, { encode }: PlaceholderRules): Promise<number[]> {
  const seconds = times?.[step]
  if (seconds === undefined) throw new MediaError('form', noTimes)
  return Array.from(await encode(timeText(seconds)))
}

function mismatch(found: readonly Run[], { images, videos }: Media, rules: PlaceholderRules): MediaError {
  const parts = (['image', 'video'] as const).flatMap(kind => {
    const items = kind === 'image' ? images : videos
    const lengths = items.flatMap(pixels => runLengths(pixels, rules))
    const runs = found.filter(run => run.kind === kind).map(run => run.count)
    if (runs.join() === lengths.join()) return []
    const wanted = items.length === 0 ? 'none' : `${items.length} (one for each), or runs of ${lengths.join(', ')}`
    return [
      `${kind} placeholders: expected ${wanted}, got ${runs.length === 0 ? 'none' : `runs of ${runs.join(', ')}`}`,
    ]
  })
  return new MediaError('form', parts.join('; '))
}
