import { InputError } from '../errors/index.js'
import type { ModelConfig } from '../model/index.js'
import { promptSequence, type Sequence, supervisedSequence, trainedCount, withAnswer } from '../sequence/index.js'
import { ChatTemplateError, encodeTurns, promptTurns, type Tokenizer, tokenIds } from '../text/index.js'
import { parseRow, type ScoreRow, scoreRow } from './input-rows.js'

/** A line of the input as the model takes it. */
export interface ScoreRequest {
  /** In the file, from 1. */
  line: number
  /** Its trained tokens are those whose log-probabilities are wanted. */
  sequence: Sequence
}

/** Turns lines into requests; a bad one is an InputError that says what is wrong, without the line's number. */
export class ScoreInput {
  #tokenizer: Promise<Tokenizer> | undefined

  constructor(
    private readonly config: ModelConfig,
    private readonly options: { chatTemplate: string; tokenizer: () => Promise<Tokenizer> },
  ) {}

  async request(given: unknown, line: number): Promise<ScoreRequest> {
    const sequence = await this.#sequence(parseRow(scoreRow, given), `line ${line}`)
    const { length } = sequence.ids
    const { context } = this.config.decoder
    if (length === 0) throw new InputError('no tokens')
    if (length > context) throw new InputError(`${length} tokens, and the model's context is ${context}`)
    return { line, sequence }
  }

  async #sequence(row: ScoreRow, promptId: string): Promise<Sequence> {
    const { head, decoder } = this.config
    const { vocabSize } = decoder
    if (row.kind === 'ids') {
      const ids = checkIds(row.ids, vocabSize)
      return supervisedSequence({ ids, trained: new Uint8Array(ids.length).fill(1), promptId, row })
    }
    // Loaded when a line first needs it: a file of ids needs none.
    const { chatTemplate } = this.options
    this.#tokenizer ??= this.options.tokenizer()
    const tokenizer = await this.#tokenizer
    const sequence = await (row.kind === 'messages'
      ? encodeMessages(tokenizer, row, { head, promptId })
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
  const prompt = promptSequence({ ids: await encodeTurns(turns, tokenizer), promptId, row })
  if (head === 'score' && typeof turns !== 'string') {
    const { answer, tail } = await tokenizer.encodeAnswer(turns, [{ role: 'assistant', content: row.response }])
    return withAnswer(withAnswer(prompt, answer), tail)
  }
  if (head !== 'score' && prompt.ids.length === 0)
    throw new InputError('prompt: no tokens; the first token of the response needs a token before it')
  return withAnswer(prompt, await tokenizer.encode(row.response, { addSpecialTokens: false }))
}

async function encodeMessages(
  tokenizer: Tokenizer,
  row: ScoreRow & { kind: 'messages' },
  { head, promptId }: { promptId: string } & Pick<ModelConfig, 'head'>,
): Promise<Sequence> {
  const { ids, assistantMask } = await tokenizer.encodeConversation(row.messages)
  const sequence = supervisedSequence({ ids, trained: assistantMask, promptId, row })
  if (head !== 'score' && trainedCount(sequence) === 0)
    throw new InputError('messages: expected at least one message of the assistant')
  return sequence
}

/** A message that the template refuses is a bad line. */
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
