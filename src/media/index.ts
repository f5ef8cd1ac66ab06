/** Images and videos: from files to pixels, and from placeholders to runs of tokens and their positions. */
export { type AudioInput, readAudio } from './audio.js'
export { bytesHash } from './content-hash.js'
export type { UrlOptions } from './fetch-media.js'
export { type FrameRequest, type FrameSampling, gridTimes, sampledFrames, timeText } from './frames.js'
export type { ImageInput, RawPixels, RawVideo, VideoInput } from './inputs.js'
export { MediaError, type MediaReason } from './media-error.js'
export { MediaFiles } from './media-files.js'
export { type MediaOrigin, mediaOrigin } from './media-origin.js'
export { type KeptMedia, MediaStore } from './media-store.js'
export { rawPngs } from './picture.js'
export { expandPlaceholders, type PlaceholderRules, type Placeholders, type PreparedMedia } from './placeholders.js'
export { encodePng, framesOf } from './png.js'
export { type MediaPositions, mediaPositions, type PositionRules, runLengths } from './positions.js'
export {
  type MediaLimits,
  type MediaOutcome,
  type MediaPlace,
  MediaProcessor,
  type MediaProcessorOptions,
  mediaLimits,
  type SampleMedia,
} from './processor.js'
export { type MediaConfig, type PixelBounds, readMediaConfig, type VisionFamily } from './processor-config.js'
export { existingPath } from './read-file.js'
export { imageSize, type Size, videoSize } from './target-size.js'
