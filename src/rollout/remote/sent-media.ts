/**
 * Images, videos and sounds as servers take them. A server puts the tokens of an image in place of one placeholder, and prepares pixels by
 * itself. So the prompt is sent with one placeholder for each item, and the pixels as PNG in the size that the model reads, which
 * the server has no reason to change. What it made of the prompt is compared with our own ids afterwards.
 */
import type { VisionConfig } from '../../decoder/index.js'
import { encodePng, framesOf } from '../../media/index.js'
import type { AudioClip, MediaItem, MediaPixels } from '../../sequence/index.js'
import type { GenerationAnswer, GenerationAttempt } from './dialect.js'
import { RefusalError } from './errors.js'

export interface SentItem {
  readonly kind: MediaPixels['kind']
  /** PNG files in base64: one for an image, one for each frame of a video. */
  readonly frames: readonly string[]
  /** Frames of each second of a video, where it is known. */
  readonly fps: number | undefined
}

/** What a request sends beside its ids. */
export interface SentMedia {
  /** Images and videos, in the order of their placeholders. */
  readonly items: readonly SentItem[]
  /** Where the tokens of each item begin among the expanded ids, and how many there are up to its last one. */
  readonly places: readonly { readonly start: number; readonly count: number }[]
  /** Sounds as `data:` URLs, in the order of their placeholders. */
  readonly audios: readonly string[]
  /** The placeholder of a sound. */
  readonly audioId: number | undefined
}

/** A server makes several tokens of the placeholder of a sound, and only the server knows how many. */
export interface AudioConfig {
  /** The placeholder: a prompt has one for each sound. */
  readonly token: number
}

/** The same prompt with one placeholder for each item. */
export function collapsedPrompt(
  ids: Int32Array,
  media: readonly MediaItem[],
  { tokens, videoTime }: Pick<VisionConfig, 'tokens' | 'videoTime'>,
): Int32Array {
  if (media.length === 0) return ids
  const kept: number[] = []
  let at = 0
  for (const { pixels, runs } of media) {
    const [first, last] = [runs[0]!, runs.at(-1)!]
    let [from, to] = [first.start, last.start + last.count]
    if (pixels.kind === 'video' && videoTime === 'text') {
      // Each run has its time and its own start and end, all of which one placeholder stands for.
      from = ids.lastIndexOf(tokens.start, from - 2) + 1
      to++
    }
    for (; at < from; at++) kept.push(ids[at]!)
    kept.push(tokens[pixels.kind])
    at = to
  }
  for (; at < ids.length; at++) kept.push(ids[at]!)
  return Int32Array.from(kept)
}

const known = new WeakMap<MediaPixels, Promise<SentItem>>()

interface GivenMedia {
  readonly media: readonly MediaItem[]
  readonly audios?: readonly AudioClip[] | undefined
  readonly vision: VisionConfig | undefined
  readonly audio?: AudioConfig | undefined
}

/** Undefined: text alone. */
export async function sentMedia({ media, audios = [], vision, audio }: GivenMedia): Promise<SentMedia | undefined> {
  if (media.length + audios.length === 0) return undefined
  return {
    items: media.length === 0 ? [] : await sentItems(media, vision!),
    places: media.map(({ runs }) => {
      const { start } = runs[0]!
      return { start, count: runs.at(-1)!.start + runs.at(-1)!.count - start }
    }),
    audios: audios.map(({ bytes, mimeType }) => `data:${mimeType};base64,${Buffer.from(bytes).toString('base64')}`),
    audioId: audio?.token,
  }
}

/** The items of a request. The samples and requests that share pixels share their files. */
function sentItems(media: readonly MediaItem[], vision: VisionConfig): Promise<SentItem[]> {
  return Promise.all(
    media.map(({ pixels }) => {
      let made = known.get(pixels)
      if (!made) {
        made = sentItem(pixels, vision)
        known.set(pixels, made)
        made.catch(() => known.delete(pixels))
      }
      return made
    }),
  )
}

async function sentItem(pixels: MediaPixels, { patch, temporalPatch }: VisionConfig): Promise<SentItem> {
  const { kind, secondsPerGrid } = pixels
  const files = await Promise.all(framesOf(pixels, { patchSize: patch }).map(encodePng))
  return {
    kind,
    frames: files.map(file => file.toString('base64')),
    fps: secondsPerGrid === undefined ? undefined : temporalPatch / secondsPerGrid,
  }
}

export const imageUrl = (png: string): string => `data:image/png;base64,${png}`

/** Frames as vLLM takes them. Their type says JPEG, but PNG files are read too, and nothing is lost. */
export const framesUrl = (frames: readonly string[]): string => `data:video/jpeg;base64,${frames.join(',')}`

/** Throws where the server read another prompt than ours: its tokens would belong to other images, or to none. */
export function checkPromptIds(
  { promptIds }: Pick<GenerationAnswer, 'promptIds'>,
  { ids, media }: Pick<GenerationAttempt, 'ids' | 'media'>,
): void {
  const refused = (why: string): RefusalError =>
    new RefusalError({ kind: 'refused', message: `the server read another prompt: ${why}` })
  if (!promptIds) throw refused('its answer does not say which tokens it made of images, videos and sounds')
  const { audioId, audios = [], items = [] } = media ?? {}
  const found = audios.length > 0 ? withoutExpansion(promptIds, ids, audioId!) : promptIds
  if (!found) throw refused('it read the placeholder of a sound as text')
  const files = 'both sides need the same processor files (preprocessor_config.json)'
  const frames = items.some(({ kind }) => kind === 'video')
    ? `; vLLM takes 32 frames and one frame rate of videos unless it is started with other --media-io-kwargs`
    : ''
  if (found.length !== ids.length)
    throw refused(`it made ${found.length} tokens of it, and here it has ${ids.length}; ${files}${frames}`)
  const wrong = found.findIndex((id, i) => id !== ids[i])
  if (wrong >= 0) throw refused(`its token ${wrong} is ${found[wrong]}, and here it is ${ids[wrong]}${frames}`)
}

/**
 * The server's prompt with as many placeholders of sounds as ours, run by run: their number is the server's to choose. Undefined: it made
 * nothing of one.
 */
function withoutExpansion(found: readonly number[], ids: Int32Array, audioId: number): readonly number[] | undefined {
  const kept: number[] = []
  let at = 0
  for (let i = 0; i < found.length; ) {
    if (found[i] !== audioId || ids[at] !== audioId) {
      kept.push(found[i++]!)
      at++
      continue
    }
    const [run, own] = [i, at]
    while (found[i] === audioId) i++
    for (; ids[at] === audioId; at++) kept.push(audioId)
    if (i - run <= at - own) return undefined
  }
  return kept
}

/** A small grey image as PNG in base64. A server that reads it makes several tokens of one placeholder. */
export async function probeImage({ patch, merge }: VisionConfig): Promise<string> {
  const side = 2 * merge * patch
  const png = await encodePng({ data: new Uint8Array(3 * side ** 2).fill(128), width: side, height: side })
  return png.toString('base64')
}

/** Why an answer to a start, one placeholder and an end shows that the server does not read what is sent here; undefined: it does. */
export function readsProbeMedia(
  answer: string,
  kind: SentItem['kind'],
  { tokens, videoTime }: VisionConfig,
): string | undefined {
  const ids = promptTokens(answer)
  if (!ids) return `the server does not say which tokens it makes of ${kind}s (vLLM 0.32 and SGLang 0.5.23 do)`
  const made = ids.filter(id => id === tokens[kind]).length
  // Times as text stand between the tokens of a video.
  const others = kind === 'video' && videoTime === 'text' ? ids.length - made > 2 : ids.length - made === 2
  return made > 1 && others ? undefined : `the server ignores ${kind}s: it read the placeholder as text`
}

function promptTokens(answer: string): readonly unknown[] | undefined {
  try {
    const { prompt_token_ids: ids } = JSON.parse(answer) as { prompt_token_ids?: unknown }
    return Array.isArray(ids) ? ids : undefined
  } catch {
    return undefined
  }
}

/** A tenth of a second of silence as a `data:` URL. */
export function probeSound(): string {
  const [rate, samples] = [16_000, 1600]
  const wav = Buffer.alloc(44 + 2 * samples)
  wav.write('RIFF', 0)
  wav.writeUInt32LE(wav.length - 8, 4)
  wav.write('WAVEfmt ', 8)
  // 16 bytes of format: PCM, one channel, its rate, bytes of a second, bytes and bits of a sample.
  wav.writeUInt32LE(16, 16)
  wav.writeUInt16LE(1, 20)
  wav.writeUInt16LE(1, 22)
  wav.writeUInt32LE(rate, 24)
  wav.writeUInt32LE(2 * rate, 28)
  wav.writeUInt16LE(2, 32)
  wav.writeUInt16LE(16, 34)
  wav.write('data', 36)
  wav.writeUInt32LE(2 * samples, 40)
  return `data:audio/wav;base64,${wav.toString('base64')}`
}

/** Why an answer to one placeholder of a sound shows that the server does not hear it; undefined: it does. */
export function probeSoundProblem(answer: string, { token }: AudioConfig): string | undefined {
  const ids = promptTokens(answer)
  if (!ids) return 'the server does not say which tokens it makes of a sound (vLLM 0.32 and SGLang 0.5.23 do)'
  const made = ids.filter(id => id === token).length
  return made > 1 ? undefined : 'the server ignores sounds: it read the placeholder of a sound as text'
}
