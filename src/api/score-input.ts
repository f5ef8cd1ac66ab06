import { expandedSequence } from '../data/index.js'
import { InputError } from '../errors/index.js'
import type { ModelConfig } from '../model/index.js'
import { promptSequence, type Sequence, supervisedSequence, trainedCount, withAnswer } from '../sequence/index.js'
import {
  type ChatMessage,
  ChatTemplateError,
  encodeTurns,
  placedTypes,
  promptTurns,
  type Tokenizer,
  tokenIds,
} from '../text/index.js'
import { type ColumnOptions, type InputRow, type ScoreRow, scoreRow } from './input-rows.js'
import type { MediaInput } from './media-input.js'

/** A row of the input as the model takes it. */
export interface ScoreRequest {
  /** File and line. */
  where: string
  /** Its trained tokens are those whose log-probabilities are wanted. */
  sequence: Sequence
}

/** Turns rows into requests; a bad one is an InputError that says what is wrong, without its place. */
export class ScoreInput {
  constructor(
    private readonly config: ModelConfig,
    private readonly options: ColumnOptions & {
      chatTemplate: string
      tokenizer: () => Promise<Tokenizer>
      media: MediaInput
    },
  ) {}

  async request(given: InputRow): Promise<ScoreRequest> {
    const { where } = given
    const sequence = await this.#sequence(scoreRow(given, this.options), given)
    const { length } = sequence.ids
    const { context } = this.config.decoder
    if (length === 0) throw new InputError('no tokens')
    if (length > context) throw new InputError(`${length} tokens, and the model's context is ${context}`)
    return { where, sequence }
  }

  async #sequence(row: ScoreRow, given: InputRow): Promise<Sequence> {
    const { media, chatTemplate } = this.options
    const { head, decoder } = this.config
    const { vocabSize } = decoder
    const promptId = given.where
    const columns = media.columns(given)
    const whole = async (ids: Int32Array): Promise<Sequence> => {
      const all = (await media.expand(ids, columns, given)) ?? { ids, media: [] }
      const trained = new Uint8Array(all.ids.length).fill(1)
      return supervisedSequence({ ids: all.ids, media: all.media, trained, promptId, row })
    }
    if (row.kind === 'ids') return whole(checkIds(row.ids, vocabSize))
    const tokenizer = await this.options.tokenizer()
    const encoded = async (): Promise<Sequence> => {
      if (row.kind === 'text') return whole(await tokenizer.encodePrompt(row.text))
      const turns = row.kind === 'messages' ? row.messages : promptTurns(row.prompt, tokenizer, chatTemplate)
      const { prompt, ...placed } = await media.place(turns, columns)
      const sequence = await (row.kind === 'messages'
        ? encodeMessages(tokenizer, { ...row, messages: prompt as readonly ChatMessage[] }, { head, promptId })
        : encodePair(tokenizer, { ...row, prompt }, { head, promptId }))
      const found = await media.expand(sequence.ids, placed, given)
      return found ? expandedSequence(sequence, found) : sequence
    }
    const sequence = await encoded().catch(asInput)
    const large = sequence.ids.find(id => id >= vocabSize)
    if (large !== undefined)
      throw new InputError(`the tokenizer gives id ${large}, the model's vocabulary ends at ${vocabSize - 1}`)
    return sequence
  }
}

/** Parts of images and videos are there only where the model reads them. */
const mediaTypes = placedTypes

/**
 * Encodes the prompt as for generation, and the response alone with nothing added, so its tokens do not depend on the prompt. A
 * reward model scores a whole turn, as in its training.
 */
async function encodePair(
  tokenizer: Tokenizer,
  row: ScoreRow & { kind: 'pair' },
  { head, promptId }: { promptId: string } & Pick<ModelConfig, 'head'>,
): Promise<Sequence> {
  const { prompt: turns, response } = row
  if (typeof response !== 'string' || (head === 'score' && typeof turns !== 'string')) {
    const before: readonly ChatMessage[] = typeof turns === 'string' ? [{ role: 'user', content: turns }] : turns
    const said: readonly ChatMessage[] =
      typeof response === 'string' ? [{ role: 'assistant', content: response }] : response
    const encoded = await tokenizer.encodeAnswer(before, said, { mediaTypes })
    const sequence = withAnswer(promptSequence({ ids: encoded.prompt, promptId, row }), encoded.answer)
    return head === 'score' ? withAnswer(sequence, encoded.tail) : sequence
  }
  const prompt = promptSequence({ ids: await encodeTurns(turns, tokenizer, { mediaTypes }), promptId, row })
  if (head !== 'score' && prompt.ids.length === 0)
    throw new InputError('prompt: no tokens; the first token of the response needs a token before it')
  return withAnswer(prompt, await tokenizer.encode(response, { addSpecialTokens: false }))
}

async function encodeMessages(
  tokenizer: Tokenizer,
  row: ScoreRow & { kind: 'messages' },
  { head, promptId }: { promptId: string } & Pick<ModelConfig, 'head'>,
): Promise<Sequence> {
  const { messages, tools } = row
  const { ids, assistantMask } = await tokenizer.encodeConversation(messages, {
    mediaTypes,
    ...(tools ? { tools } : {}),
  })
  const sequence = supervisedSequence({ ids, trained: assistantMask, promptId, row })
  if (head !== 'score' && trainedCount(sequence) === 0)
    throw new InputError('messages: expected at least one message of the assistant')
  return sequence
}

/** A message that the template refuses is a bad row. */
function asInput(error: unknown): never {
  if (error instanceof ChatTemplateError) throw new InputError(error.message, { cause: error })
  throw error
}

function checkIds(ids: readonly number[], vocabSize: number): Int32Array {
  try {
    return tokenIds(ids, { vocabSize })
  } catch (cause) {
    throw new InputError(`ids: ${(cause as Error).message}`, { cause })
  }
}
