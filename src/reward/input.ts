import type { DataRow } from '../data/index.js'
import { type AudioClip, promptIds, promptSequence, responseIds, type Sequence } from '../sequence/index.js'
import { type ChatMessage, type DecodeOptions, type Tokenizer, tokenReader } from '../text/index.js'
import type { RewardMedia } from './media.js'

/** A row of the dataset: its columns by name. */
export type RewardRow = DataRow

/** A turn of an episode, as rewards see it. */
interface RewardTurn {
  /** What the policy said, without reasoning, tool calls and special tokens. */
  readonly text: string
  readonly calls: readonly { readonly name: string; readonly argumentsText: string; readonly status: string }[]
  /** The messages that the policy read before this turn, and since the one before. */
  readonly messages: readonly ChatMessage[]
  readonly reward: number | undefined
}

/**
 * The input of a reward for one sample. Rules and functions grade `response`, which has no part of the prompt, so that an example
 * in the prompt never counts as an answer.
 *
 * @example
 * const brief = ({ response }: RewardInput) => (response.length < 400 ? 1 : 0)
 */
export interface RewardInput<Row = RewardRow> {
  /** The prompt's text, special tokens removed. */
  readonly prompt: string
  /** The prompt as the model saw it: the chat template's text, special tokens included. */
  readonly promptRaw: string
  /** The response's text, special tokens removed. Of an episode: what the policy said last, never the text of a tool. */
  readonly response: string
  /** Another name of `response`. */
  readonly answer: string
  /** The response's text, special tokens included: the end-of-turn token is there where the model wrote it. */
  readonly responseRaw: string
  /** Prompt and response in one text, special tokens included: what LightRFT calls a query. */
  readonly query: string
  /** What the engine read and sampled: the token that ended the response is the last. Empty for saved samples without ids. */
  readonly sequence: Sequence<RewardRow>
  /**
   * The conversation the prompt was rendered from, where it was one; the response is not part of it. Of an episode: the whole
   * conversation, with calls and results.
   */
  readonly messages?: readonly ChatMessage[] | undefined
  /** The turns of an episode; undefined for a sample without an environment. */
  readonly turns?: readonly RewardTurn[] | undefined
  /** What the environment gave the episode; undefined where it gave none. */
  readonly environmentReward?: number | undefined
  /** Which recipe the sample is graded by. */
  readonly label?: string | undefined
  /** The answer, or several of which any will do. */
  readonly target?: string | readonly string[] | undefined
  /** The dataset's row: typed by its schema in `defineReward`. */
  readonly row: Row
  readonly finishReason: 'stop' | 'length' | 'abort'
  /** Of the prompt, in the order of their places: decoded, with where they come from. */
  readonly images?: readonly RewardMedia[] | undefined
  readonly videos?: readonly RewardMedia[] | undefined
  readonly audios?: readonly AudioClip[] | undefined
  /** Names the prompt; samples of one prompt share it. */
  readonly promptId: string
  /** The sample's index among those of its prompt. */
  readonly sample: number
}

type Known = Pick<
  RewardInput,
  'messages' | 'label' | 'target' | 'finishReason' | 'images' | 'videos' | 'audios' | 'sample'
>

/** The record of a sample an engine made: its ids, decoded by the policy's tokenizer. */
export async function decodeRewardInput(
  tokenizer: Pick<Tokenizer, 'decode' | 'byteLevel'>,
  sample: Known & Pick<RewardInput, 'sequence'>,
): Promise<RewardInput> {
  const { sequence } = sample
  const { row, promptId } = sequence
  const [asked, answered] = [promptIds(sequence), responseIds(sequence)]
  const [prompt, promptRaw, response, responseRaw, query] = await Promise.all([
    textOf(tokenizer, asked, { skipSpecialTokens: true }),
    textOf(tokenizer, asked),
    textOf(tokenizer, answered, { skipSpecialTokens: true }),
    textOf(tokenizer, answered),
    // Decoded as a whole, because a character may be split between prompt and response.
    textOf(tokenizer, sequence.ids),
  ])
  return { ...sample, row, promptId, prompt, promptRaw, response, answer: response, responseRaw, query }
}

const none = new Int32Array(0)

/** What `decode` gives. Where tokens are bytes they are put together here: five calls of the library for every sample cost more. */
function textOf(
  tokenizer: Pick<Tokenizer, 'decode' | 'byteLevel'>,
  ids: Int32Array,
  { skipSpecialTokens = false }: DecodeOptions = {},
): string | Promise<string> {
  if (!tokenizer.byteLevel) return tokenizer.decode(ids, { skipSpecialTokens })
  return tokenReader(tokenizer, { skipSpecialTokens, before: none }).read(ids, { last: true })
}

/** The record of a sample of which the text is known, and perhaps its sequence. */
export function textRewardInput(
  sample: Partial<Known & Pick<RewardInput, 'row' | 'promptId' | 'sequence'>> & {
    prompt: string
    response: string
    responseRaw?: string
  },
): RewardInput {
  const { prompt, response, responseRaw = response, row = {}, promptId = '0' } = sample
  return {
    finishReason: 'stop',
    sample: 0,
    sequence: promptSequence({ ids: none, promptId, row }),
    ...sample,
    row,
    promptId,
    promptRaw: prompt,
    answer: response,
    responseRaw,
    query: prompt + responseRaw,
  }
}
