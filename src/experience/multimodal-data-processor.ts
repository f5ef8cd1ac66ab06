/** Batches of prompts, some with images or videos: each is made ready once, and its samples share the result. */
import type { MultimodalProcessor } from '../model/index.js'
import type { MediaItem, MediaPixels } from '../sequence/index.js'
import type { Tokenizer } from '../text/index.js'

export interface MultimodalDataProcessorOptions {
  /** For prompts of text alone. */
  readonly tokenizer: Pick<Tokenizer, 'encode'>
  /** For prompts with images or videos. Null: there are none. */
  readonly processor: Pick<MultimodalProcessor, 'process'> | null
  /** Tokens a prompt may have. A longer text is cut at its end; a longer prompt with media fails, because media are never cut. */
  readonly promptMaxLen: number
}

export interface MultimodalBatch<Image = unknown, Video = unknown, Reference = unknown> {
  /** Texts as the model reads them: rendered, with one placeholder for each image and video, or with all of them. */
  readonly allPrompts: readonly string[]
  /** For each prompt: null, one image, or a list of them. */
  readonly allImages?: readonly Image[] | null
  readonly allVideos?: readonly Video[] | null
  readonly allReferences?: readonly Reference[] | null
  readonly nSamplesPerPrompt: number
}

/** One entry for each sample. Those of prompt i are the entries from i * n on, and share everything. */
export interface ProcessedMultimodalBatch<Image = unknown, Video = unknown, Reference = unknown> {
  /** Null where the prompt failed. */
  readonly allPromptTokenIds: readonly (Int32Array | null)[]
  readonly allPrompts: readonly string[]
  /** As they were given, for rewards. */
  readonly allImages: readonly (Image | null)[]
  readonly allVideos: readonly (Video | null)[]
  readonly allImagesNum: readonly number[]
  readonly allVideosNum: readonly number[]
  /** Patches along time, height and width of each image; none for text. */
  readonly allImagesGridThw: readonly (readonly MediaPixels['grid'][])[]
  readonly allVideosGridThw: readonly (readonly MediaPixels['grid'][])[]
  /** Pixels at their places among the ids, in the order of their placeholders. */
  readonly allMedia: readonly (readonly MediaItem[])[]
  readonly allReferences: readonly Reference[] | null
  /** Prompts that cannot be used, and why. */
  readonly failed: readonly { readonly prompt: number; readonly reason: string; readonly message: string }[]
}

interface Ready {
  readonly ids: Int32Array | null
  readonly media: readonly MediaItem[]
}

/**
 * @example
 * const multimodal = new MultimodalDataProcessor({ tokenizer, processor, promptMaxLen: 2048 })
 * const { allPromptTokenIds, allMedia } = await multimodal.processMultimodalBatch({
 *   allPrompts: ['Hello', '<|vision_start|><|image_pad|><|vision_end|>What is this?'],
 *   allImages: [null, ['cat.png']],
 *   nSamplesPerPrompt: 8,
 * })
 */
export class MultimodalDataProcessor {
  constructor(private readonly options: MultimodalDataProcessorOptions) {}

  async processMultimodalBatch<Image, Video, Reference>(
    batch: MultimodalBatch<Image, Video, Reference>,
  ): Promise<ProcessedMultimodalBatch<Image, Video, Reference>> {
    const { allPrompts, allImages, allVideos, allReferences, nSamplesPerPrompt: n } = batch
    checkLengths(batch)
    const failed: { prompt: number; reason: string; message: string }[] = []
    const ready = await Promise.all(
      allPrompts.map(async (text, prompt): Promise<Ready> => {
        const [images, videos] = [allImages?.[prompt], allVideos?.[prompt]]
        const found =
          isNone(images) && isNone(videos) ? await this.#text(text) : await this.#media(text, { images, videos })
        if (!('reason' in found)) return found
        failed.push({ prompt, ...found })
        return { ids: null, media: [] }
      }),
    )
    const each = <T>(values: readonly T[]): T[] => values.flatMap(value => new Array<T>(n).fill(value))
    const grids = (kind: MediaPixels['kind']) =>
      each(ready.map(({ media }) => media.flatMap(({ pixels }) => (pixels.kind === kind ? [pixels.grid] : []))))
    const [imageGrids, videoGrids] = [grids('image'), grids('video')]
    return {
      allPromptTokenIds: each(ready.map(({ ids }) => ids)),
      allPrompts: each(allPrompts),
      allImages: each(allPrompts.map((_, i) => allImages?.[i] ?? null)),
      allVideos: each(allPrompts.map((_, i) => allVideos?.[i] ?? null)),
      allImagesNum: imageGrids.map(({ length }) => length),
      allVideosNum: videoGrids.map(({ length }) => length),
      allImagesGridThw: imageGrids,
      allVideosGridThw: videoGrids,
      allMedia: each(ready.map(({ media }) => media)),
      allReferences: allReferences ? each(allReferences) : null,
      failed: failed.sort((a, b) => a.prompt - b.prompt),
    }
  }

  async #text(text: string): Promise<Ready> {
    const ids = await this.options.tokenizer.encode(text, { addSpecialTokens: false })
    return { ids: ids.slice(0, this.options.promptMaxLen), media: [] }
  }

  async #media(text: string, given: { images: unknown; videos: unknown }) {
    const { tokenizer, processor, promptMaxLen } = this.options
    if (!processor) throw new RangeError('images and videos need a vision-language model and its processor')
    const ids = await tokenizer.encode(text, { addSpecialTokens: false })
    const found = await processor.process(ids, given)
    if (found.kind === 'failed') return { reason: found.reason as string, message: found.message }
    const { length } = found.ids
    if (length <= promptMaxLen) return { ids: found.ids, media: found.media }
    const message = `the prompt has ${length} tokens with its media, more than promptMaxLen (${promptMaxLen}); lower the bounds on pixels`
    return { reason: 'prompt-too-long', message }
  }
}

const isNone = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.every(isNone))

function checkLengths({ allPrompts, allImages, allVideos, allReferences, nSamplesPerPrompt }: MultimodalBatch): void {
  if (!Number.isInteger(nSamplesPerPrompt) || nSamplesPerPrompt < 1)
    throw new RangeError(`nSamplesPerPrompt: expected an integer of at least 1, got ${nSamplesPerPrompt}`)
  for (const [name, list] of Object.entries({ allImages, allVideos, allReferences }))
    if (list && list.length !== allPrompts.length)
      throw new RangeError(`${name}: expected an entry for each of ${allPrompts.length} prompts, got ${list.length}`)
}
