/** Images and videos of the rows that `score` and `generate` read. */
import { mediaOfRow, type PromptRow } from '../data/index.js'
import { InputError } from '../errors/index.js'
import { type ModelConfig, MultimodalProcessor } from '../model/index.js'
import { audioUnsupported, type MediaItem } from '../sequence/index.js'
import { type MediaColumns, type PlacedMedia, placeMedia, type TextPrompt, type Tokenizer } from '../text/index.js'
import { type MediaSettings, processorOptions } from '../train/index.js'
import type { InputRow } from './input-rows.js'

/** Images and videos of a row: for each placeholder, for each mark `<image>` or `<video>`, or before the first text of the user. */
export interface RowMedia {
  readonly images?: OneOrMany<PromptRow['images']> | null
  readonly videos?: OneOrMany<PromptRow['videos']> | null
}

type OneOrMany<List extends readonly unknown[] | undefined> = List | NonNullable<List>[number]

interface MediaInputOptions {
  readonly config: Pick<ModelConfig, 'decoder'>
  /** Has the files of the processor; undefined for a model of the program. */
  readonly directory: string | undefined
  /** In place of the one of the directory. */
  readonly processor: MultimodalProcessor | undefined
  /** How the processor of the directory reads files. */
  readonly settings: MediaSettings | undefined
  readonly tokenizer: () => Promise<Tokenizer>
  readonly signal: AbortSignal
}

/** Ids with a placeholder for every token of the media. */
interface ExpandedIds {
  readonly ids: Int32Array
  readonly media: readonly MediaItem[]
  /** For each id, the index of the given id that it comes from. */
  readonly from: Int32Array
}

/** An {@link InputError} says what is wrong with the media of a row, without its place. */
export class MediaInput {
  #processor: Promise<MultimodalProcessor> | undefined
  #marks: Promise<readonly string[]> | undefined

  constructor(private readonly options: MediaInputOptions) {}

  /** Whether the model reads images and videos. */
  get isRead(): boolean {
    return this.options.config.decoder.vision !== undefined
  }

  /** The media in the columns of a row. */
  columns({ value, values }: InputRow): MediaColumns {
    const { audios, ...columns } = mediaOfRow(value, { columns: {}, values })
    if (audios) throw new InputError(audioUnsupported)
    this.#checkTower(columns)
    return columns
  }

  /**
   * Turns with a part at the place of each image and video. A text that is not a turn, and turns whose texts have placeholders, stay
   * as they are.
   */
  async place(turns: TextPrompt, columns: MediaColumns): Promise<PlacedMedia> {
    const { images = [], videos = [] } = columns
    const areColumns = images.length + videos.length > 0
    if (typeof turns === 'string' || (areColumns && (await this.#holdsPlaceholders(turns))))
      return { prompt: turns, images, videos }
    const placed = placeMedia(turns, columns)
    this.#checkTower(placed)
    return placed
  }

  /** The ids and media as a model takes them. All placeholders are there already, or one for each item. */
  async expand(
    ids: Int32Array,
    { images = [], videos = [] }: MediaColumns,
    { mediaRoot }: InputRow,
  ): Promise<ExpandedIds | undefined> {
    const { config, signal } = this.options
    const { vision } = config.decoder
    if (!vision) return undefined
    const { image, video } = vision.tokens
    if (images.length + videos.length === 0 && !ids.includes(image) && !ids.includes(video)) return undefined
    this.#processor ??= this.#load()
    const processor = await this.#processor
    const place = mediaRoot === undefined ? {} : { baseDirectory: mediaRoot, root: mediaRoot }
    const found = await processor.process(ids, { images, videos }, { ...place, signal })
    if (found.kind === 'failed') throw new InputError(found.message)
    return found
  }

  #checkTower({ images = [], videos = [] }: MediaColumns): void {
    if (images.length + videos.length > 0 && !this.isRead)
      throw new InputError('images and videos need a vision-language model, and this model reads text alone')
  }

  async #load(): Promise<MultimodalProcessor> {
    const { directory, processor, settings, tokenizer } = this.options
    if (processor) return processor
    if (directory === undefined)
      throw new InputError('processor: missing; a model object needs one for rows with images or videos')
    const encode = async (text: string) => (await tokenizer()).encode(text, { addSpecialTokens: false })
    return MultimodalProcessor.load(directory, { encode, ...processorOptions(settings) })
  }

  async #holdsPlaceholders(turns: Exclude<TextPrompt, string>): Promise<boolean> {
    this.#marks ??= this.#placeholderTexts()
    const marks = await this.#marks
    return turns.some(({ content }) => {
      const texts = typeof content === 'string' ? [content] : (content ?? []).map(({ text }) => text)
      return texts.some(text => typeof text === 'string' && marks.some(mark => text.includes(mark)))
    })
  }

  async #placeholderTexts(): Promise<readonly string[]> {
    const { image, video } = this.options.config.decoder.vision!.tokens
    const tokenizer = await this.options.tokenizer()
    return Promise.all([image, video].map(id => tokenizer.decode([id], { skipSpecialTokens: false })))
  }
}
