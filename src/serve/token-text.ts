/** Tokens and log-probabilities as the API writes them. */
import type { Sample, TokenEvent, TopLogprobs } from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'

/** How tokens read, once all of these are known. */
export type TokenShow = (ids: Iterable<number>) => Promise<(id: number) => string>

/** Tokens as text, each decoded once for all requests. */
export class TokenTexts {
  private readonly known = new Map<number, string>()

  constructor(private readonly tokenizer: Tokenizer | undefined) {}

  /** As `token_id:N` where that was asked for, or where there is no tokenizer. */
  show(asIds: boolean): TokenShow {
    const { tokenizer, known } = this
    if (asIds || !tokenizer) return async () => id => `token_id:${id}`
    return async ids => {
      const missing = new Set<number>()
      for (const id of ids) if (!known.has(id)) missing.add(id)
      await Promise.all(Array.from(missing, async id => known.set(id, await tokenizer.decode([id]))))
      return id => known.get(id)!
    }
  }
}

/** JSON has no infinities; this is what vLLM writes. */
export const finite = (value: number): number => (Number.isFinite(value) ? value : -9999)

export interface TokenScore {
  id: number
  logprob: number
  top: TopLogprobs | undefined
}

export function scoresOf({ responseIds, logprobs, topLogprobs }: Sample): TokenScore[] {
  return Array.from(responseIds, (id, i) => ({ id, logprob: logprobs.raw![i]!, top: topLogprobs?.[i] }))
}

export const scoreOf = ({ id, raw, top }: TokenEvent): TokenScore => ({ id, logprob: raw!, top })

function idsOf(scores: readonly TokenScore[]): number[] {
  const ids: number[] = []
  for (const { id, top } of scores) ids.push(id, ...(top?.ids ?? []))
  return ids
}

/** The log-probabilities of `/v1/completions`. `offset` is where the text of the first token begins. */
export async function completionLogprobs(scores: readonly TokenScore[], show: TokenShow, offset = 0): Promise<object> {
  const textOf = await show(idsOf(scores))
  const tokens = scores.map(({ id }) => textOf(id))
  let at = offset
  return {
    text_offset: tokens.map(token => {
      const here = at
      at += token.length
      return here
    }),
    token_logprobs: scores.map(({ logprob }) => finite(logprob)),
    tokens,
    top_logprobs: scores.map(({ logprob, top }, i) => {
      const likeliest = Array.from(top?.ids ?? [], (id, k): [string, number] => [textOf(id), finite(top!.logprobs[k]!)])
      return Object.fromEntries([[tokens[i]!, finite(logprob)], ...likeliest])
    }),
  }
}

/** The log-probabilities of `/v1/chat/completions`. */
export async function chatLogprobs(scores: readonly TokenScore[], show: TokenShow): Promise<object> {
  const textOf = await show(idsOf(scores))
  const entry = (id: number, logprob: number): object => {
    const token = textOf(id)
    return { token, logprob: finite(logprob), bytes: Array.from(Buffer.from(token)) }
  }
  const content = scores.map(({ id, logprob, top }) => ({
    ...entry(id, logprob),
    top_logprobs: Array.from(top?.ids ?? [], (each, k) => entry(each, top!.logprobs[k]!)),
  }))
  return { content }
}

/** `prompt_logprobs`: null for the first token, then each token's own and the likeliest, by id. */
export async function promptLogprobs(
  { promptIds, promptLogprobs: found }: Sample,
  show: TokenShow,
): Promise<unknown[]> {
  const later = promptIds.subarray(1)
  const scores = Array.from(later, (id, i) => ({ id, logprob: found!.logprobs[i]!, top: found!.top[i]! }))
  const textOf = await show(idsOf(scores))
  const rows = scores.map(({ id, logprob, top: { rank, ids, logprobs } }) => {
    const row: Record<string, object> = {}
    ids.forEach((each, k) => {
      row[each] = { logprob: finite(logprobs[k]!), rank: k + 1, decoded_token: textOf(each) }
    })
    row[id] ??= { logprob: finite(logprob), rank, decoded_token: textOf(id) }
    return row
  })
  return [null, ...rows]
}
