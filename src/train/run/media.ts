/** Images and videos of a training: what makes them ready, and what a run keeps of them. */
import { join } from 'node:path'
import { MediaFiles, MediaStore } from '../../media/index.js'
import { type ModelConfig, MultimodalProcessor } from '../../model/index.js'
import { runPaths } from '../../run/index.js'
import type { Tokenizer } from '../../text/index.js'
import type { MediaSettings } from '../config/common.js'
import type { LiveParts } from './job.js'

export interface TrainingMedia {
  /** Null: the model reads text alone, and rows with images or videos are refused. */
  readonly processor: MultimodalProcessor | null
  /** Starts to keep in a run which files it reads. Of a resumed run they are compared with those that it has read. */
  keepIn(run: string, options?: { readonly signal?: AbortSignal }): Promise<void>
  /** Where a run keeps the pixels themselves; undefined for models of text. */
  storeIn(run: string): MediaStore | undefined
}

interface MediaContext {
  readonly config: { readonly model: string; readonly media?: MediaSettings | undefined }
  /** Of the trained model. */
  readonly model: ModelConfig
  readonly tokenizer: Tokenizer
  readonly live: Pick<LiveParts, 'processor'>
}

/** Reads no weights: rows with images and videos can be checked before a model is loaded. */
export async function openMedia({ config, model, tokenizer, live }: MediaContext): Promise<TrainingMedia> {
  const files = new MediaFiles()
  const processor = await processorOf({ config, model, tokenizer, live }, files)
  return {
    processor,
    keepIn: async (run, options) => {
      if (processor) await files.keepIn(join(runPaths(run).media, 'files.jsonl'), options)
    },
    storeIn: run => processor?.media && storeOf(run, processor),
  }
}

const storeOf = (run: string, { media }: MultimodalProcessor): MediaStore =>
  new MediaStore(runPaths(run).media, media.config.patchSize)

async function processorOf(
  { config, model, tokenizer, live }: MediaContext,
  files: MediaFiles,
): Promise<MultimodalProcessor | null> {
  if (!model.decoder.vision) return null
  if (live.processor) return live.processor
  const encode = (text: string) => tokenizer.encode(text, { addSpecialTokens: false })
  return MultimodalProcessor.load(config.model, { encode, files, ...processorOptions(config.media) })
}

/** The settings of a config as a processor takes them. */
export function processorOptions(settings: MediaSettings = {}) {
  const { minPixels, maxPixels, videoMinPixels, videoMaxPixels, urls, ffmpeg } = settings
  const bounds = (min: number | undefined, max: number | undefined) => ({
    ...(min === undefined ? {} : { minPixels: min }),
    ...(max === undefined ? {} : { maxPixels: max }),
  })
  return {
    imagePixels: bounds(minPixels, maxPixels),
    videoPixels: bounds(videoMinPixels, videoMaxPixels),
    ...(urls === 'public' ? { urls: { addresses: 'public' as const } } : {}),
    ...(ffmpeg === undefined ? {} : { ffmpeg }),
  }
}
