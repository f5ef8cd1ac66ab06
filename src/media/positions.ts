/** Rope positions of a sequence with media: three rows, for time, height and width. */
import type { MediaItem, MediaPixels } from '../sequence/index.js'

export interface PositionRules {
  /** Patches of one token along height, and along width. */
  readonly mergeSize: number
  /**
   * What a step of a video along time adds to the row of time: 1 (`index`), or its seconds times `tokensPerSecond`. `text`: times
   * stand in the text, and each pair of frames has a run of its own.
   */
  readonly videoTime: 'index' | 'text' | { readonly tokensPerSecond: number }
}

export interface MediaPositions {
  readonly time: Int32Array
  readonly height: Int32Array
  readonly width: Int32Array
  /** Token number n of the sequence, counted from 0, has position n + delta in all rows where it comes after the given ones. */
  readonly delta: number
}

/**
 * A text token has one position, equal in all rows. A run of placeholders is a block that starts at the next position; each of its
 * tokens adds its step along time, its row and its column. The token after a block has the largest position of the block plus 1.
 *
 * @param sequence how many tokens it has, and its media in the order of their runs
 */
export function mediaPositions(
  { length, media }: { readonly length: number; readonly media: readonly MediaItem[] },
  { mergeSize, videoTime }: PositionRules,
): MediaPositions {
  const [time, height, width] = [new Int32Array(length), new Int32Array(length), new Int32Array(length)]
  let token = 0
  let at = 0
  const text = (end: number): void => {
    for (; token < end; token++, at++) time[token] = height[token] = width[token] = at
  }
  for (const item of media) {
    const { grid } = item.pixels
    const [rows, columns] = [grid[1] / mergeSize, grid[2] / mergeSize]
    const step = timeStep(item, videoTime)
    for (const { start, steps } of blocksOf(item, { mergeSize, videoTime })) {
      if (start < token || start + steps * rows * columns > length)
        throw new RangeError(
          `a run of ${item.pixels.kind} tokens at ${start} overlaps another, or ends after ${length}`,
        )
      text(start)
      for (let i = 0; i < steps; i++)
        for (let row = 0; row < rows; row++)
          for (let column = 0; column < columns; column++, token++) {
            time[token] = at + Math.floor(i * step)
            height[token] = at + row
            width[token] = at + column
          }
      at += Math.max(Math.floor((steps - 1) * step), rows - 1, columns - 1) + 1
    }
  }
  text(length)
  return { time, height, width, delta: at - length }
}

function timeStep({ pixels }: MediaItem, videoTime: PositionRules['videoTime']): number {
  if (pixels.kind === 'image' || typeof videoTime === 'string') return 1
  if (pixels.secondsPerGrid === undefined)
    throw new RangeError('a video has no secondsPerGrid, and this model reads times of videos in its positions')
  return videoTime.tokensPerSecond * pixels.secondsPerGrid
}

/** How many tokens each run of an item has: one run, or one for each step along time. */
export function runLengths(pixels: MediaPixels, { mergeSize, videoTime }: PositionRules): number[] {
  const [steps, height, width] = pixels.grid
  const count = (height * width) / mergeSize ** 2
  return pixels.kind === 'video' && videoTime === 'text' ? new Array<number>(steps).fill(count) : [steps * count]
}

/** The runs of an item with their steps along time. */
function blocksOf({ pixels, runs }: MediaItem, rules: PositionRules): { start: number; steps: number }[] {
  const lengths = runLengths(pixels, rules)
  if (runs.length !== lengths.length || runs.some(({ count }, i) => count !== lengths[i])) {
    const name = pixels.kind === 'image' ? 'an image' : 'a video'
    const counts = runs.map(({ count }) => count).join(', ')
    throw new RangeError(
      `${name} with grid ${pixels.grid.join(' x ')} has runs of ${counts} tokens; expected ${lengths.join(', ')}`,
    )
  }
  return runs.map(({ start }) => ({ start, steps: pixels.grid[0] / runs.length }))
}
