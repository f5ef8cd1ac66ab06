/** Tokens and log-probabilities as the API writes them. */
import type { Completion, TokenEvent, TopLogprobs } from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'

export type TokenShow = (id: number) => Promise<string>

/** A token as text; as `token_id:N` where that was asked for, or where there is no tokenizer. */
export function tokenShow(tokenizer: Tokenizer | undefined, asIds: boolean): TokenShow {
  const known = new Map<number, Promise<string>>()
  return id => {
    let text = known.get(id)
    if (!text) {
      text = asIds || !tokenizer ? Promise.resolve(`token_id:${id}`) : tokenizer.decode([id])
      known.set(id, text)
    }
    return text
  }
}

/** JSON has no infinities; this is what vLLM writes. */
export const finite = (value: number): number => (Number.isFinite(value) ? value : -9999)

export interface TokenScore {
  id: number
  logprob: number
  top: TopLogprobs | undefined
}

export function scoresOf({ responseIds, logprobs, topLogprobs }: Completion): TokenScore[] {
  return Array.from(responseIds, (id, i) => ({ id, logprob: logprobs.raw[i]!, top: topLogprobs?.[i] }))
}

export const scoreOf = ({ id, raw, top }: TokenEvent): TokenScore => ({ id, logprob: raw, top })

/** The log-probabilities of `/v1/completions`. `offset` is where the text of the first token begins. */
export async function completionLogprobs(scores: readonly TokenScore[], show: TokenShow, offset = 0): Promise<object> {
  const tokens = await Promise.all(scores.map(({ id }) => show(id)))
  let at = offset
  return {
    text_offset: tokens.map(token => {
      const here = at
      at += token.length
      return here
    }),
    token_logprobs: scores.map(({ logprob }) => finite(logprob)),
    tokens,
    top_logprobs: await Promise.all(
      scores.map(async ({ logprob, top }, i) => {
        const entries: [string, number][] = [[tokens[i]!, finite(logprob)]]
        for (const [k, id] of (top?.ids ?? new Int32Array(0)).entries())
          entries.push([await show(id), finite(top!.logprobs[k]!)])
        return Object.fromEntries(entries)
      }),
    ),
  }
}

/** The log-probabilities of `/v1/chat/completions`. */
export async function chatLogprobs(scores: readonly TokenScore[], show: TokenShow): Promise<object> {
  const entry = async (id: number, logprob: number): Promise<object> => {
    const token = await show(id)
    return { token, logprob: finite(logprob), bytes: Array.from(Buffer.from(token)) }
  }
  const content = scores.map(async ({ id, logprob, top }) => ({
    ...(await entry(id, logprob)),
    top_logprobs: await Promise.all(Array.from(top?.ids ?? [], (each, k) => entry(each, top!.logprobs[k]!))),
  }))
  return { content: await Promise.all(content) }
}

/** `prompt_logprobs`: null for the first token, then each token's own and the likeliest, by id. */
export async function promptLogprobs(
  { promptIds, promptLogprobs: found }: Completion,
  show: TokenShow,
): Promise<unknown[]> {
  const rows = Array.from(promptIds.subarray(1), async (id, i) => {
    const { rank, ids, logprobs } = found!.top[i]!
    const row: Record<string, object> = {}
    for (const [k, each] of ids.entries())
      row[each] = { logprob: finite(logprobs[k]!), rank: k + 1, decoded_token: await show(each) }
    row[id] ??= { logprob: finite(found!.logprobs[i]!), rank, decoded_token: await show(id) }
    return row
  })
  return [null, ...(await Promise.all(rows))]
}
