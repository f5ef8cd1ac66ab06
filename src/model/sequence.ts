/** What a model reads: token ids, and the media that stand at certain places in them. */

/** An image or a video whose placeholder tokens are `ids[start..start + count]` of its sequence. */
export interface MediaItem {
  kind: 'image' | 'video'
  start: number
  count: number
  /** Patches as a vision tower takes them, row by row. */
  pixels: Float32Array
  /** Patches along time, height and width. */
  grid: readonly [time: number, height: number, width: number]
}

export interface MediaSequence {
  ids: Int32Array
  media: readonly MediaItem[]
}

/** Text alone is its token ids; `TokenIds` of a tokenizer are one. */
export type Sequence = Int32Array | MediaSequence

export function idsOf(sequence: Sequence): Int32Array {
  return sequence instanceof Int32Array ? sequence : sequence.ids
}

export function mediaOf(sequence: Sequence): readonly MediaItem[] {
  return sequence instanceof Int32Array ? [] : sequence.media
}
