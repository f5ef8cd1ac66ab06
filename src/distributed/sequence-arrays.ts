/** Sequences as arrays for another rank, and back. Rows and prompt ids stay behind: a model does not read them. */
import type { ModelInput } from '../model/index.js'
import { asRead, type MediaItem, type MediaPixels, type Sequence } from '../sequence/index.js'
import type { Part, WireArray } from './frames.js'

interface WireSequence {
  readonly length: number
  /** Left out for bare ids. */
  readonly media?: readonly { readonly pixels: number; readonly runs: MediaItem['runs'] }[]
}

interface WireSequences {
  readonly sequences: readonly WireSequence[]
  /** Each image or video once; its frames are the arrays after the first two. */
  readonly pixels: readonly Omit<MediaPixels, 'frames'>[]
}

/** Three arrays and more: the ids of all, their trained masks, and the frames of each image or video once. */
export function sequencesToPart(given: readonly ModelInput[]): Part {
  const inputs = given.map(input => (input instanceof Int32Array ? input : asRead(input)))
  const bare = (input: ModelInput): input is Int32Array => input instanceof Int32Array
  const idsOf = (input: ModelInput): Int32Array => (bare(input) ? input : input.ids)
  const total = inputs.reduce((sum, input) => sum + idsOf(input).length, 0)
  const ids = new Int32Array(total)
  const trained = new Uint8Array(total)
  const places = new Map<string, number>()
  const pixels: Omit<MediaPixels, 'frames'>[] = []
  const frames: Uint8Array[] = []
  const place = ({ frames: content, ...rest }: MediaPixels): number => {
    const known = places.get(rest.hash)
    if (known !== undefined) return known
    places.set(rest.hash, pixels.length)
    frames.push(content)
    return pixels.push(rest) - 1
  }
  let at = 0
  const sequences = inputs.map((input): WireSequence => {
    const { length } = idsOf(input)
    ids.set(idsOf(input), at)
    if (!bare(input)) trained.set(input.trained, at)
    at += length
    if (bare(input)) return { length }
    return { length, media: input.media.map(({ pixels: one, runs }) => ({ pixels: place(one), runs })) }
  })
  return { body: { sequences, pixels } satisfies WireSequences, arrays: [ids, trained, ...frames] }
}

export function sequencesFromPart(body: unknown, arrays: readonly WireArray[]): ModelInput[] {
  const { sequences, pixels } = body as WireSequences
  const [ids, trained, ...frames] = arrays as [Int32Array, Uint8Array, ...Uint8Array[]]
  const held = pixels.map((one, i): MediaPixels => ({ ...one, frames: frames[i]! }))
  let at = 0
  return sequences.map(({ length, media }): ModelInput => {
    const range = [at, at + length] as const
    at += length
    if (!media) return ids.slice(...range)
    const sequence: Sequence = {
      ids: ids.slice(...range),
      origin: new Uint8Array(length),
      trained: trained.slice(...range),
      media: media.map(({ pixels: place, runs }) => ({ pixels: held[place]!, runs })),
      promptId: '',
      row: undefined,
    }
    return sequence
  })
}
