/** Tokens and log-probabilities in the formats of the API. */
import type { Sample, TokenEvent, TopLogprobs } from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'
import type { Told } from './logprobs-mode.js'
import { LazyList } from './write-json.js'

/** Resolves with the texts of these tokens. */
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
      if (missing.size > 0)
        await Promise.all(Array.from(missing, async id => known.set(id, await tokenizer.decode([id]))))
      return id => known.get(id)!
    }
  }
}

/** JSON has no infinity; vLLM writes -9999. */
export const finite = (value: number): number => (Number.isFinite(value) ? value : -9999)

export interface TokenScore {
  id: number
  /** Undefined for the first token of a prompt. */
  logprob: number | undefined
  top: TopLogprobs | undefined
}

/** Scores of consecutive tokens, made on access. */
interface Scores {
  readonly length: number
  at(index: number): TokenScore
}

export const scoresOf = ({ responseIds, logprobs, topLogprobs }: Sample, told: Told): Scores => ({
  length: responseIds.length,
  at: index => ({
    id: responseIds[index]!,
    ...told({ index, raw: logprobs.raw?.[index], processed: logprobs.processed?.[index], top: topLogprobs?.[index] }),
  }),
})

/** Scores of the prompt; only where the engine was asked for them. */
export const promptScoresOf = ({ promptIds, promptLogprobs }: Sample): Scores => ({
  length: promptIds.length,
  at: i => ({
    id: promptIds[i]!,
    logprob: i === 0 ? undefined : promptLogprobs!.logprobs[i - 1]!,
    top: promptLogprobs!.top[i - 1],
  }),
})

/** `start`: number of earlier tokens of the response. */
export const scoresOfEvents = (events: readonly TokenEvent[], start: number, told: Told): Scores => ({
  length: events.length,
  at: i => {
    const { id, raw, processed, top } = events[i]!
    return { id, ...told({ index: start + i, raw, processed, top }) }
  },
})

export const joined = (first: Scores, second: Scores): Scores => ({
  length: first.length + second.length,
  at: i => (i < first.length ? first.at(i) : second.at(i - first.length)),
})

type Row = (score: TokenScore, textOf: (id: number) => string) => unknown

/** One item for each score. */
export type RowList = (row: Row) => unknown

/** The scores `start..end`, and all ids in them. */
function slice(scores: Scores, start: number, end: number): { batch: TokenScore[]; ids: number[] } {
  const batch: TokenScore[] = []
  const ids: number[] = []
  for (let i = start; i < end; i++) {
    const score = scores.at(i)
    batch.push(score)
    ids.push(score.id)
    if (score.top) for (const id of score.top.ids) ids.push(id)
  }
  return { batch, ids }
}

/** For few scores: an array. */
export async function rowsNow(scores: Scores, show: TokenShow): Promise<(row: Row) => unknown[]> {
  const { batch, ids } = slice(scores, 0, scores.length)
  const textOf = await show(ids)
  return row => batch.map(score => row(score, textOf))
}

/** Tokens of a long list that are written at once; then other requests run. */
const batchSize = 64
/** A list of at most this many tokens is made at once. */
const shortSize = 512

/** For any number of scores: rows are made while they are written. Short lists of the same scores share the work. */
export function rowsLater(scores: Scores, show: TokenShow): RowList {
  if (scores.length <= shortSize) {
    let few: ReturnType<typeof rowsNow> | undefined
    return row =>
      new LazyList(async function* () {
        few ??= rowsNow(scores, show)
        yield (await few)(row)
      })
  }
  return row =>
    new LazyList(async function* () {
      for (let start = 0; start < scores.length; start += batchSize) {
        const { batch, ids } = slice(scores, start, Math.min(start + batchSize, scores.length))
        const textOf = await show(ids)
        yield batch.map(score => row(score, textOf))
      }
    })
}

/** The log-probabilities of `/v1/completions`. `offset`: where the text of the first token begins. */
export function completionLogprobs(rows: RowList, offset = 0): object {
  let at = offset
  return {
    text_offset: rows(({ id }, textOf) => {
      const here = at
      at += textOf(id).length
      return here
    }),
    token_logprobs: rows(({ logprob }) => (logprob === undefined ? null : finite(logprob))),
    tokens: rows(({ id }, textOf) => textOf(id)),
    top_logprobs: rows(({ id, logprob, top }, textOf) => {
      if (logprob === undefined) return null
      const likeliest = Array.from(top?.ids ?? [], (each, k): [string, number] => [
        textOf(each),
        finite(top!.logprobs[k]!),
      ])
      return Object.fromEntries([[textOf(id), finite(logprob)], ...likeliest])
    }),
  }
}

/** The log-probabilities of `/v1/chat/completions`. */
export function chatLogprobs(rows: RowList): object {
  const entry = (token: string, logprob: number): object => ({
    token,
    logprob: finite(logprob),
    bytes: Array.from(Buffer.from(token)),
  })
  const content = rows(({ id, logprob, top }, textOf) => ({
    ...entry(textOf(id), logprob!),
    top_logprobs: Array.from(top?.ids ?? [], (each, k) => entry(textOf(each), top!.logprobs[k]!)),
  }))
  return { content }
}

/** `prompt_logprobs`: null for the first token, then the token and the likeliest ones, by id. */
export function promptLogprobs(sample: Sample, show: TokenShow): unknown {
  return rowsLater(
    promptScoresOf(sample),
    show,
  )(({ id, logprob, top }, textOf) => {
    if (logprob === undefined || !top) return null
    const row: Record<string, object> = {}
    top.ids.forEach((each, k) => {
      row[each] = { logprob: finite(top.logprobs[k]!), rank: k + 1, decoded_token: textOf(each) }
    })
    row[id] ??= { logprob: finite(logprob), rank: top.rank, decoded_token: textOf(id) }
    return row
  })
}
