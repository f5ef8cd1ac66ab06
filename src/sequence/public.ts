/** Sequences: token ids, who made each of them, and which are trained. */
export {
  type AudioClip,
  type MediaItem,
  type MediaPixels,
  origins,
  type PromptParts,
  promptIds,
  promptLength,
  promptSequence,
  responseIds,
  type Sequence,
  supervisedSequence,
  trainedCount,
  withObservation,
  withSampled,
} from './index.js'
