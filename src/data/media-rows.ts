/** Rows with images and videos: encoded as text with one placeholder for each, which is then expanded. */
import { audioUnsupported, type MediaItem, type Sequence } from '../sequence/index.js'
import { encodeTurns, type MediaColumns, placedTypes, placeMedia, type TextPrompt } from '../text/index.js'
import type { Encoded, EncodeOptions } from './encode.js'
import { directoryOf } from './formats/media.js'
import type { FilePrompt } from './prompts.js'
import type { StoredRow } from './row-store.js'

/** What makes ids with placeholders ready for a model: `MultimodalProcessor`. */
export interface RowProcessor {
  process(
    ids: Int32Array,
    media: { readonly images: readonly unknown[]; readonly videos: readonly unknown[] },
    place: { readonly baseDirectory: string; readonly root: string },
  ): Promise<
    | {
        readonly kind: 'processed'
        readonly ids: Int32Array
        readonly media: readonly MediaItem[]
        readonly from: Int32Array
      }
    | { readonly kind: 'failed'; readonly message: string }
  >
}

/** What is wrong with a row that has media, for a model of text. */
export const noTower = 'images and videos need a vision-language model, and this model reads text alone'

export type MediaRow = StoredRow<
  MediaColumns & { readonly audios?: readonly unknown[] } & {
    readonly messages?: TextPrompt
    readonly prompt?: TextPrompt
  }
>

/** Nothing of a row with media is cut: a cut would part placeholders from their pixels. One that is too long is left out. */
export async function encodeWithMedia<E>(
  stored: MediaRow,
  options: EncodeOptions,
  encode: (stored: MediaRow, options: EncodeOptions) => Promise<Encoded<E>>,
): Promise<Encoded<E>> {
  const { images: ofColumn, videos: frames, audios, ...row } = stored.row
  if (audios) return dropped('media', audioUnsupported)
  const field = row.messages ? 'messages' : 'prompt'
  const given = row[field]
  if (given === undefined) return encode(stored, options)
  const { prompt, images, videos } = placeMedia(given, { images: ofColumn, videos: frames })
  if (images.length + videos.length === 0) return encode(stored, options)
  const { processor, maxLength, ...rest } = options
  if (processor === null) return dropped('media', noTower)
  const encoded = await encode({ ...stored, row: { ...row, [field]: prompt } }, { ...rest, mediaTypes: placedTypes })
  if (encoded.kind === 'dropped' || !processor) return encoded
  const root = directoryOf(stored.where)
  const sequences: Record<string, Sequence> = {}
  for (const [name, value] of Object.entries(encoded.example as object)) {
    if (!isSequence(value)) continue
    const found = await processor.process(value.ids, { images, videos }, { baseDirectory: root, root })
    if (found.kind === 'failed') return dropped('media', found.message)
    if (maxLength !== undefined && found.ids.length > maxLength)
      return dropped('overlong', `${found.ids.length} tokens with its media, more than maxLength (${maxLength})`)
    sequences[name] = expandedSequence(value, found)
  }
  return { ...encoded, example: { ...encoded.example, ...(sequences as Partial<E>) } }
}

/** Patches of different images and videos. */
export function patchesOf(media: readonly MediaItem[]): number {
  const each = new Map(media.map(({ pixels: { hash, grid } }) => [hash, grid[0] * grid[1] * grid[2]]))
  return [...each.values()].reduce((sum, patches) => sum + patches, 0)
}

/** How many tokens and patches a prompt has with its media, or what is wrong with them. Undefined where it has none, or where nothing reads them. */
export async function promptWithMedia(
  { prompt, images: ofColumn, videos: frames, mediaRoot }: FilePrompt,
  { tokenizer, processor }: Pick<EncodeOptions, 'tokenizer' | 'processor'>,
): Promise<{ readonly length: number; readonly patches: number } | { readonly message: string } | undefined> {
  const { prompt: placed, images, videos } = placeMedia(prompt, { images: ofColumn, videos: frames })
  if (images.length + videos.length === 0 || !processor || mediaRoot === undefined) return undefined
  const ids = await encodeTurns(placed, tokenizer, { mediaTypes: placedTypes })
  const found = await processor.process(ids, { images, videos }, { baseDirectory: mediaRoot, root: mediaRoot })
  if (found.kind === 'failed') return { message: found.message }
  return { length: found.ids.length, patches: patchesOf(found.media) }
}

const isSequence = (value: unknown): value is Sequence =>
  typeof value === 'object' && value !== null && 'trained' in value

/** The sequence with all placeholders of its media. */
export function expandedSequence(
  sequence: Sequence,
  found: { readonly ids: Int32Array; readonly media: readonly MediaItem[]; readonly from: Int32Array },
): Sequence {
  const { ids, media, from } = found
  const trained = Uint8Array.from(from, index => sequence.trained[index]!)
  // Placeholders are not text that a model writes.
  for (const { runs } of media) for (const { start, count } of runs) trained.fill(0, start, start + count)
  return { ...sequence, ids, media, trained, origin: Uint8Array.from(from, index => sequence.origin[index]!) }
}

const dropped = (reason: string, message: string) => ({ kind: 'dropped' as const, reason, message })
