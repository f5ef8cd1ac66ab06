/** Reads SGLang's answers. Pure. Throws a `ProtocolError` for an answer that breaks the protocol. */
import { parseRetryAfter } from '../../http/index.js'
import type { TopLogprobs } from '../generator.js'
import {
  asArray,
  asObject,
  type GenerationAnswer,
  type GenerationAttempt,
  type Refusal,
  type ServerFacts,
} from '../remote/dialect.js'
import { ProtocolError, RefusalError, serverWords } from '../remote/errors.js'

type Fields = Readonly<Record<string, unknown>>

export function readAnswer(body: unknown, attempt: GenerationAttempt, facts: ServerFacts): GenerationAnswer {
  const answer = read(body, attempt, { from: 0, facts })
  if (answer.finish === undefined) throw new ProtocolError('the answer has no finish reason')
  return answer
}

/** Reads events. An event has all ids and log-probabilities so far, or with `--incremental-streaming-output` only the new ones. */
export function eventReader(
  attempt: GenerationAttempt,
  facts: ServerFacts,
): (event: string) => GenerationAnswer | undefined {
  let seen = 0
  return event => {
    if (event === '[DONE]') return undefined
    const body = asObject(parsed(event), 'an event')
    if (body.error !== undefined) throw new RefusalError(streamRefusal(body))
    if (body.index !== undefined && body.index !== 0)
      throw new ProtocolError(`an event is of completion ${body.index}, but only one was requested`)
    const answer = read(body, attempt, { from: facts.incremental === true ? 0 : seen, facts })
    seen += answer.ids.length
    return answer
  }
}

interface Reading {
  /** How many tokens of the answer are already known. */
  readonly from: number
  readonly facts: ServerFacts
}

function read(body: unknown, attempt: GenerationAttempt, { from, facts }: Reading): GenerationAnswer {
  const { output_ids, meta_info, prompt_token_ids } = asObject(body, 'an answer to one request')
  const { promptLogprobs } = attempt
  const { topLogprobs } = attempt.sampling
  const meta = asObject(meta_info, 'meta_info')
  const all = asArray(output_ids, 'output_ids')
  const triples = asArray(meta.output_token_logprobs, 'output_token_logprobs')
  if (all.length < from) throw new ProtocolError(`an event has ${all.length} tokens, but ${from} had come before`)
  if (triples.length !== all.length)
    throw new ProtocolError(`${triples.length} log-probabilities for ${all.length} tokens`)
  const ids: number[] = []
  const logprobs: number[] = []
  for (let i = from; i < all.length; i++) {
    const [logprob, id] = asTriple(triples[i])
    if (id !== all[i]) throw new ProtocolError(`the log-probability of token ${id} is at the place of token ${all[i]}`)
    ids.push(id)
    logprobs.push(logprob ?? Number.NaN)
  }
  const finish = readFinish(meta.finish_reason, attempt)
  return {
    ids,
    logprobs,
    top: topLogprobs === undefined ? undefined : readTops(meta.output_top_logprobs, ids, { from, count: topLogprobs }),
    finish,
    versions: finish && meta.weight_versions !== undefined ? readVersions(meta.weight_versions) : undefined,
    promptLogprobs: finish && promptLogprobs !== undefined ? readPrompt(meta, attempt, facts) : undefined,
    ...(attempt.media && Array.isArray(prompt_token_ids) ? { promptIds: prompt_token_ids as number[] } : {}),
  }
}

function readFinish(reason: unknown, { sampling }: GenerationAttempt): GenerationAnswer['finish'] {
  if (reason === null || reason === undefined) return undefined
  const { type, matched, status_code, message } = asObject(reason, 'finish_reason')
  if (type === 'length') return { reason: 'length', stop: undefined }
  if (type === 'abort') {
    // An abort with a status is a refusal.
    if (typeof status_code === 'number') throw new RefusalError(refusalOf(status_code, String(message), undefined))
    return { reason: 'abort', stop: undefined }
  }
  if (type !== 'stop') throw new ProtocolError(`unknown finish_reason ${JSON.stringify(type)}`)
  // The request could not ignore the end-of-sequence token: the response goes on after it.
  const { stopIds, ignoreEos } = sampling
  if (ignoreEos && stopIds.length > 0 && typeof matched === 'number' && !stopIds.includes(matched))
    return { reason: 'abort', stop: undefined }
  const named = typeof matched === 'string' || (typeof matched === 'number' && stopIds.includes(matched))
  return { reason: 'stop', stop: named ? matched : undefined }
}

function readVersions(value: unknown): GenerationAnswer['versions'] {
  return asArray(value, 'weight_versions').map(span => {
    const { version, start, end } = asObject(span, 'a span of weight_versions')
    if (typeof start !== 'number' || typeof end !== 'number')
      throw new ProtocolError('a span of weight_versions without a start or an end')
    return { version: String(version), start, end }
  })
}

/**
 * The first token of a prompt has no log-probability. In place of the tokens of an image the server has numbers that name the image, and
 * no log-probabilities of ours: NaN.
 */
function readPrompt(meta: Fields, attempt: GenerationAttempt, facts: ServerFacts): GenerationAnswer['promptLogprobs'] {
  const count = attempt.promptLogprobs!
  const isImage = (id: number | undefined): boolean => attempt.media !== undefined && id === facts.imageId
  const triples = asArray(meta.input_token_logprobs, 'input_token_logprobs').map(asTriple)
  const { ids } = attempt
  if (triples.length !== ids.length)
    throw new ProtocolError(`log-probabilities for ${triples.length} of the prompt's ${ids.length} tokens`)
  const strange = triples.findIndex(
    ([logprob, id], i) => !isImage(ids[i]) && (id !== ids[i] || (i > 0 && !Number.isFinite(logprob))),
  )
  if (strange >= 0) throw new ProtocolError(`no log-probability for the prompt's token ${ids[strange]}`)
  const later = ids.subarray(1)
  const tops = count === 0 ? undefined : meta.input_top_logprobs
  return {
    logprobs: Float32Array.from(triples.slice(1), ([logprob], i) => (isImage(ids[i + 1]) ? Number.NaN : logprob!)),
    top: readTops(tops, [...later], { from: 1, count }),
  }
}

/** The likeliest tokens at each position. The server gives no ranks: a token beyond the likeliest gets the next rank. */
function readTops(
  value: unknown,
  ids: readonly number[],
  { from, count }: { from: number; count: number },
): readonly TopLogprobs[] {
  if (count === 0) return ids.map(() => ({ rank: 1, ids: new Int32Array(0), logprobs: new Float32Array(0) }))
  const lists = asArray(value, 'top_logprobs').slice(from)
  if (lists.length !== ids.length)
    throw new ProtocolError(`top log-probabilities for ${lists.length} of ${ids.length} tokens`)
  return lists.map((list, i) => {
    const triples = asArray(list, 'alternatives').slice(0, count).map(asTriple)
    const rank = triples.findIndex(([, id]) => id === ids[i])
    return {
      rank: rank < 0 ? triples.length + 1 : rank + 1,
      ids: Int32Array.from(triples, ([, id]) => id),
      logprobs: Float32Array.from(triples, ([logprob]) => logprob ?? Number.NaN),
    }
  })
}

function asTriple(value: unknown): [logprob: number | null, id: number] {
  if (!Array.isArray(value) || typeof value[1] !== 'number')
    throw new ProtocolError('a log-probability has no token id')
  return [typeof value[0] === 'number' ? value[0] : null, value[1]]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ProtocolError(`an event is not JSON: ${text.slice(0, 80)}`, { cause })
  }
}

function streamRefusal({ error }: Fields): Refusal {
  const { code } = typeof error === 'object' && error !== null ? (error as Fields) : {}
  return refusalOf(typeof code === 'number' ? code : 500, JSON.stringify({ error }), undefined)
}

const tooLong =
  /longer than the model's context length|exceeds the maximum allowed length|Requested token count exceeds/
const unknownAdapter = /LoRA adapter that has never been loaded/

export function refusalOf(status: number, text: string, retryAfter: string | undefined): Refusal {
  const words = serverWords(text)
  const message = `the server answered ${status}${words === '' ? '' : `: ${words}`}`
  if (status === 408 || status === 425 || status === 429 || status >= 500)
    return { kind: 'retry', message, afterMs: parseRetryAfter(retryAfter) }
  if (tooLong.test(words)) return { kind: 'prompt-too-long', message }
  if (unknownAdapter.test(words)) return { kind: 'unknown-weights', message }
  return { kind: 'refused', message }
}
