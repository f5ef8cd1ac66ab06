/** Sizes and grids of prepared media. */
import type { MediaPixels } from '../sequence/index.js'
import type { MediaConfig } from './processor-config.js'
import { imageSize, type Size, videoSize } from './target-size.js'

/** The size of each frame that the model reads. */
export function frameSize(size: Size, frames: number, config: MediaConfig, kind: MediaPixels['kind']): Size {
  const { patchSize, mergeSize, temporalPatchSize } = config
  const { minPixels, maxPixels } = config[kind]
  const bounds = { factor: patchSize * mergeSize, minPixels, maxPixels }
  return kind === 'video' && config.video.bounds === 'video'
    ? videoSize(size, { ...bounds, frames, temporalPatchSize })
    : imageSize(size, bounds)
}

export function gridOf(size: Size, frames: number, { patchSize, temporalPatchSize }: MediaConfig): MediaPixels['grid'] {
  return [Math.ceil(frames / temporalPatchSize), size.height / patchSize, size.width / patchSize]
}
