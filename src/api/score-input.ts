import { InputError } from '../errors/index.js'
import type { ModelConfig } from '../model/index.js'
import { promptSequence, type Sequence, supervisedSequence, trainedCount, withAnswer } from '../sequence/index.js'
import {
  type ChatMessage,
  ChatTemplateError,
  encodeTurns,
  promptTurns,
  type Tokenizer,
  tokenIds,
} from '../text/index.js'
import { type ColumnOptions, type InputRow, type ScoreRow, scoreRow } from './input-rows.js'

/** A row of the input as the model takes it. */
export interface ScoreRequest {
  /** File and line. */
  where: string
  /** Its trained tokens are those whose log-probabilities are wanted. */
  sequence: Sequence
}

/** Turns rows into requests; a bad one is an InputError that says what is wrong, without its place. */
export class ScoreInput {
  #tokenizer: Promise<Tokenizer> | undefined

  constructor(
    private readonly config: ModelConfig,
    private readonly options: ColumnOptions & { chatTemplate: string; tokenizer: () => Promise<Tokenizer> },
  ) {}

  async request(given: InputRow): Promise<ScoreRequest> {
    const { where } = given
    const sequence = await this.#sequence(scoreRow(given, this.options), where)
    const { length } = sequence.ids
    const { context } = this.config.decoder
    if (length === 0) throw new InputError('no tokens')
    if (length > context) throw new InputError(`${length} tokens, and the model's context is ${context}`)
    return { where, sequence }
  }

  async #sequence(row: ScoreRow, promptId: string): Promise<Sequence> {
    const { head, decoder } = this.config
    const { vocabSize } = decoder
    const whole = (ids: Int32Array): Sequence =>
      supervisedSequence({ ids, trained: new Uint8Array(ids.length).fill(1), promptId, row })
    if (row.kind === 'ids') return whole(checkIds(row.ids, vocabSize))
    // Loaded when a row first needs it: a file of ids needs none.
    const { chatTemplate } = this.options
    this.#tokenizer ??= this.options.tokenizer()
    const tokenizer = await this.#tokenizer
    const sequence = await (row.kind === 'messages'
      ? encodeMessages(tokenizer, row, { head, promptId })
      : row.kind === 'text'
        ? tokenizer.encodePrompt(row.text).then(whole)
        : encodePair(tokenizer, row, { chatTemplate, head, promptId })
    ).catch(asInput)
    const large = sequence.ids.find(id => id >= vocabSize)
    if (large !== undefined)
      throw new InputError(`the tokenizer gives id ${large}, the model's vocabulary ends at ${vocabSize - 1}`)
    return sequence
  }
}

/**
 * Encodes the prompt as for generation, and the response alone with nothing added, so its tokens do not depend on the prompt. A
 * reward model scores a whole turn, as in its training.
 */
async function encodePair(
  tokenizer: Tokenizer,
  row: ScoreRow & { kind: 'pair' },
  { chatTemplate, head, promptId }: { chatTemplate: string; promptId: string } & Pick<ModelConfig, 'head'>,
): Promise<Sequence> {
  const turns = promptTurns(row.prompt, tokenizer, chatTemplate)
  const { response } = row
  if (typeof response !== 'string' || (head === 'score' && typeof turns !== 'string')) {
    const before: readonly ChatMessage[] = typeof turns === 'string' ? [{ role: 'user', content: turns }] : turns
    const said: readonly ChatMessage[] =
      typeof response === 'string' ? [{ role: 'assistant', content: response }] : response
    const encoded = await tokenizer.encodeAnswer(before, said)
    const sequence = withAnswer(promptSequence({ ids: encoded.prompt, promptId, row }), encoded.answer)
    return head === 'score' ? withAnswer(sequence, encoded.tail) : sequence
  }
  const prompt = promptSequence({ ids: await encodeTurns(turns, tokenizer), promptId, row })
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
  const { ids, assistantMask } = await tokenizer.encodeConversation(messages, tools ? { tools } : {})
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
