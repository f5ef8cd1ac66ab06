/** What makes prompts with images and videos ready for a vision-language model: pixels, and a placeholder for each of their tokens. */
import { ModelError, readConfig, type VisionConfig } from '../decoder/index.js'
import {
  expandPlaceholders,
  MediaError,
  type MediaPlace,
  MediaProcessor,
  type MediaProcessorOptions,
  type MediaReason,
  type PlaceholderRules,
  type PreparedMedia,
  readMediaConfig,
  type SampleMedia,
  type VisionFamily,
} from '../media/index.js'
import type { MediaItem } from '../sequence/index.js'
import type { TokenModel } from './token-model.js'

export interface MultimodalProcessorOptions extends Omit<MediaProcessorOptions, 'config'> {
  /** Token ids of a text, without special tokens: the model's tokenizer. */
  readonly encode: PlaceholderRules['encode']
}

export type ProcessedPrompt =
  | {
      readonly kind: 'processed'
      readonly ids: Int32Array
      /** At their places among the ids. */
      readonly media: readonly MediaItem[]
      /** For each id, the index of the given id that it comes from. */
      readonly from: Int32Array
      readonly images: readonly PreparedMedia[]
      readonly videos: readonly PreparedMedia[]
    }
  /** An image or a video cannot be used, or placeholders do not fit the media: a bad row. */
  | { readonly kind: 'failed'; readonly reason: MediaReason; readonly message: string }

/**
 * @example
 * const processor = await MultimodalProcessor.load('models/qwen2.5-vl', { encode: text => tokenizer.encode(text) })
 */
export class MultimodalProcessor {
  constructor(
    readonly media: MediaProcessor,
    private readonly rules: PlaceholderRules,
  ) {}

  /** Ids that stand for tokens of images and videos. No answer has them: nothing would belong to them. */
  get placeholderIds(): readonly number[] {
    return [this.rules.imageId, this.rules.videoId]
  }

  /** Of a model directory, which has the configs of its model and of its processors. */
  static async load(
    directory: string,
    { encode, ...options }: MultimodalProcessorOptions,
  ): Promise<MultimodalProcessor> {
    const { decoder } = await readConfig(directory)
    const { vision } = decoder
    if (!vision)
      throw new ModelError(`${directory}: this model reads text alone; images and videos need a vision-language model`)
    const config = await readMediaConfig(directory, decoder.family as VisionFamily)
    checkSizes(directory, config, vision)
    const { tokens, merge, videoTime } = vision
    return new MultimodalProcessor(new MediaProcessor({ ...options, config }), {
      imageId: tokens.image,
      videoId: tokens.video,
      visionStartId: tokens.start,
      visionEndId: tokens.end,
      mergeSize: merge,
      videoTime,
      encode,
    })
  }

  /** Of a model that was loaded from a directory; undefined for a model that reads text alone. */
  static async of(
    { capabilities }: Pick<TokenModel, 'capabilities'>,
    directory: string,
    options: MultimodalProcessorOptions,
  ): Promise<MultimodalProcessor | undefined> {
    return capabilities.media ? MultimodalProcessor.load(directory, options) : undefined
  }

  /** Ids that stand for one image, before it is processed. */
  get placeholder(): readonly number[] {
    const { visionStartId, imageId, visionEndId } = this.rules
    return [visionStartId, imageId, visionEndId]
  }

  /** Ids of a prompt with all placeholders, and its media. Only an abort is thrown. */
  async process(ids: ArrayLike<number>, given: SampleMedia, place: MediaPlace = {}): Promise<ProcessedPrompt> {
    const prepared = await this.media.prepare(given, place)
    if (prepared.kind === 'failed') return { kind: 'failed', reason: prepared.reason, message: prepared.message }
    const { images, videos } = prepared
    try {
      const expanded = await expandPlaceholders({ ids, images, videos }, this.rules)
      return { kind: 'processed', ...expanded, images, videos }
    } catch (error) {
      if (!(error instanceof MediaError)) throw error
      return { kind: 'failed', reason: error.reason, message: error.message }
    }
  }
}

function checkSizes(
  directory: string,
  { patchSize, mergeSize, temporalPatchSize }: MediaProcessor['config'],
  { patch, merge, temporalPatch }: VisionConfig,
): void {
  for (const [name, ofProcessor, ofModel] of [
    ['patch_size', patchSize, patch],
    ['merge_size', mergeSize, merge],
    ['temporal_patch_size', temporalPatchSize, temporalPatch],
  ] as const)
    if (ofProcessor !== ofModel)
      throw new ModelError(`${directory}: ${name} of the processor is ${ofProcessor}, and that of the model ${ofModel}`)
}
