import { InputError } from '../errors/index.js'
import type { ModelConfig } from '../model/index.js'
import { type ChatMessage, ChatTemplateError, encodeTurns, promptTurns, Tokenizer, tokenIds } from '../text/index.js'
import { parseRow, type ScoreRow, scoreRow } from './input-rows.js'

/** A line of the input as the model takes it. */
export interface ScoreRequest {
  /** In the file, from 1. */
  line: number
  ids: Int32Array
  /** The first token whose log-probability is wanted. */
  from: number
  /** Which tokens from `from` on are wanted: 1 or 0 each. Undefined: all. */
  mask: Uint8Array | undefined
}

/** Turns lines into requests; a bad one is an InputError that says what is wrong, without the line's number. */
export class ScoreInput {
  #tokenizer: Promise<Tokenizer> | undefined

  constructor(
    private readonly model: string,
    private readonly config: ModelConfig,
    private readonly options: { chatTemplate: string },
  ) {}

  async request(text: string, line: number): Promise<ScoreRequest> {
    const row = parseRow(scoreRow, text)
    const request = { line, ...(await this.#tokens(row)) }
    const { context } = this.config.decoder
    if (request.ids.length === 0) throw new InputError('no tokens')
    if (request.ids.length > context)
      throw new InputError(`${request.ids.length} tokens, and the model's context is ${context}`)
    return request
  }

  async #tokens(row: ScoreRow): Promise<Omit<ScoreRequest, 'line'>> {
    const { vocabSize } = this.config.decoder
    if (row.kind === 'ids') return { ids: checkIds(row.ids, vocabSize), from: 1, mask: undefined }
    // Loaded when a line first needs it: a file of ids needs none.
    const { chatTemplate } = this.options
    this.#tokenizer ??= Tokenizer.load(this.model, { chatTemplate })
    const tokenizer = await this.#tokenizer
    const { head } = this.config
    const encoded = await (row.kind === 'messages'
      ? encodeMessages(tokenizer, row.messages)
      : encodePair(tokenizer, row, { chatTemplate, head })
    ).catch(asInput)
    const large = encoded.ids.findIndex(id => id >= vocabSize)
    if (large >= 0)
      throw new InputError(
        `the tokenizer gives id ${encoded.ids[large]}, the model's vocabulary ends at ${vocabSize - 1}`,
      )
    if (head === 'score') return { ids: encoded.ids, from: 1, mask: undefined }
    return encoded.wanted(encoded.ids)
  }
}

interface Encoded {
  ids: Int32Array
  /** Selects the tokens to score; throws if there are none. */
  wanted: (ids: Int32Array) => Omit<ScoreRequest, 'line'>
}

/**
 * Encodes the prompt as for generation, and the response alone with nothing added, so its tokens do not depend on the prompt. A
 * reward model scores a whole turn, as in its training.
 */
async function encodePair(
  tokenizer: Tokenizer,
  { prompt, response }: ScoreRow & { kind: 'pair' },
  { chatTemplate, head }: { chatTemplate: string } & Pick<ModelConfig, 'head'>,
): Promise<Encoded> {
  const turns = promptTurns(prompt, tokenizer, chatTemplate)
  const first = await encodeTurns(turns, tokenizer)
  const said = [{ role: 'assistant', content: response }]
  const turn = head === 'score' && typeof turns !== 'string' ? await tokenizer.encodeAnswer(turns, said) : undefined
  const second = turn ? [...turn.answer, ...turn.tail] : await tokenizer.encode(response, { addSpecialTokens: false })
  const ids = Int32Array.of(...first, ...second)
  return {
    ids,
    wanted: () => {
      if (first.length === 0)
        throw new InputError('prompt: no tokens; the first token of the response needs a token before it')
      return { ids, from: first.length, mask: undefined }
    },
  }
}

async function encodeMessages(tokenizer: Tokenizer, messages: readonly ChatMessage[]): Promise<Encoded> {
  const { ids, assistantMask } = await tokenizer.encodeConversation(messages)
  return {
    ids,
    wanted: () => {
      const from = assistantMask.indexOf(1, 1)
      if (from < 0) throw new InputError('messages: expected at least one message of the assistant')
      return { ids, from, mask: assistantMask.slice(from) }
    },
  }
}

/** A message that the template refuses is a bad line. */
function asInput(error: unknown): never {
  if (error instanceof ChatTemplateError) throw new InputError(error.message, { cause: error })
  throw error
}

function checkIds(ids: readonly unknown[], vocabSize: number): Int32Array {
  try {
    return tokenIds(ids as readonly number[], { vocabSize })
  } catch (cause) {
    throw new InputError(`ids: ${(cause as Error).message}`, { cause })
  }
}
