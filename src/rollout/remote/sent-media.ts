/**
 * Images and videos as servers take them. A server puts the tokens of an image in place of one placeholder, and prepares pixels by
 * itself. So the prompt is sent with one placeholder for each item, and the pixels as PNG in the size that the model reads, which
 * the server has no reason to change. What it made of the prompt is compared with our own ids afterwards.
 */
import type { VisionConfig } from '../../decoder/index.js'
import { encodePng, framesOf } from '../../media/index.js'
import type { MediaItem, MediaPixels } from '../../sequence/index.js'
import type { GenerationAnswer, GenerationAttempt } from './dialect.js'
import { RefusalError } from './errors.js'

export interface SentItem {
  readonly kind: MediaPixels['kind']
  /** PNG files in base64: one for an image, one for each frame of a video. */
  readonly frames: readonly string[]
  /** Frames of each second of a video, where it is known. */
  readonly fps: number | undefined
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

/** The items of a request. The samples and requests that share pixels share their files. */
export function sentItems(media: readonly MediaItem[], vision: VisionConfig): Promise<SentItem[]> {
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
  { ids }: Pick<GenerationAttempt, 'ids'>,
): void {
  const refused = (why: string): RefusalError =>
    new RefusalError({ kind: 'refused', message: `the server read another prompt: ${why}` })
  if (!promptIds) throw refused('its answer does not say which tokens it made of images and videos')
  if (promptIds.length !== ids.length)
    throw refused(
      `it made ${promptIds.length} tokens of it, and here it has ${ids.length}; both sides need the same processor files (preprocessor_config.json)`,
    )
  const wrong = promptIds.findIndex((id, i) => id !== ids[i])
  if (wrong >= 0) throw refused(`its token ${wrong} is ${promptIds[wrong]}, and here it is ${ids[wrong]}`)
}

/** A small grey image as PNG in base64. A server that reads it makes several tokens of one placeholder. */
export async function probeImage({ patch, merge }: VisionConfig): Promise<string> {
  const side = 2 * merge * patch
  const png = await encodePng({ data: new Uint8Array(3 * side ** 2).fill(128), width: side, height: side })
  return png.toString('base64')
}

/** Why an answer to a start, one placeholder and an end shows that the server does not read images as they are sent here. */
export function readsProbeImage(answer: string, { tokens }: VisionConfig): string | undefined {
  const ids = promptTokens(answer)
  if (!ids) return 'the server does not say which tokens it makes of an image (vLLM 0.32 and SGLang 0.5.23 do)'
  const made = ids.filter(id => id === tokens.image).length
  if (made > 1 && ids.length === made + 2) return undefined
  return 'the server ignores images: it read the placeholder of an image as text'
}

function promptTokens(answer: string): readonly unknown[] | undefined {
  try {
    const { prompt_token_ids: ids } = JSON.parse(answer) as { prompt_token_ids?: unknown }
    return Array.isArray(ids) ? ids : undefined
  } catch {
    return undefined
  }
}
