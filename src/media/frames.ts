/** Which frames of a video a model reads, and the times that belong to them. */
import { oneDecimal, roundHalfEven } from './round.js'

export interface FrameRequest {
  /** Frames of the video. */
  readonly total: number
  /** Frames of the video in a second. */
  readonly fps: number
  /** Frames to take of each second. */
  readonly wanted: number
  readonly minFrames: number
  readonly maxFrames: number
}

/**
 * How a family takes frames. `even`: an even count, from the first frame on, at equal steps rounded down. `ends`: any count, from
 * the first frame to the last, at equal steps rounded to the nearest.
 */
export type FrameSampling = 'even' | 'ends'

/** The indices of the frames to read. */
export function sampledFrames(
  { total, fps, wanted, minFrames, maxFrames }: FrameRequest,
  sampling: FrameSampling,
): number[] {
  const asked = (total / fps) * wanted
  if (sampling === 'even') {
    const most = floorToEven(Math.min(maxFrames, total))
    // A video of one frame has no even count.
    const count = floorToEven(Math.min(Math.max(asked, minFrames), most)) || 1
    return Array.from({ length: count }, (_, i) => Math.floor((i * total) / count))
  }
  const count = Math.min(Math.max(Math.trunc(asked), minFrames), maxFrames, total)
  const step = (total - 1) / (count - 1)
  return Array.from({ length: count }, (_, i) => (i === 0 ? 0 : i === count - 1 ? total - 1 : roundHalfEven(i * step)))
}

const floorToEven = (value: number): number => Math.floor(value / 2) * 2

/** The seconds of each step of the grid: the mean of the times of its first and its last frame. The last frame is repeated. */
export function gridTimes(
  indices: readonly number[],
  { fps, temporalPatchSize }: { fps: number; temporalPatchSize: number },
): number[] {
  const times = indices.map(index => index / fps)
  const steps = Math.ceil(times.length / temporalPatchSize)
  return Array.from({ length: steps }, (_, i) => {
    const last = Math.min((i + 1) * temporalPatchSize, times.length) - 1
    return (times[i * temporalPatchSize]! + times[last]!) / 2
  })
}

/** What Qwen3-VL reads before the tokens of each step of the grid. */
export function timeText(seconds: number): string {
  return `<${oneDecimal(seconds)} seconds>`
}
