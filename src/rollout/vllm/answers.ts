/** Reads vLLM's answers, whole and as streams, of both routes. */
import { parseRetryAfter } from '../../http/index.js'
import type { TopLogprobs } from '../generator.js'
import { asArray, asObject, type GenerationAnswer, type GenerationAttempt, type Refusal } from '../remote/dialect.js'
import { ProtocolError, RefusalError, serverWords } from '../remote/errors.js'
import { scanAnswer } from './scan-logprobs.js'

type Fields = Readonly<Record<string, unknown>>
type Read = (event: string) => GenerationAnswer | undefined

export function tokensAnswer(body: unknown, attempt: GenerationAttempt): GenerationAnswer {
  const answer = asObject(body, 'the answer')
  return { ...tokensChoice(onlyChoice(answer), attempt, answer.prompt_logprobs), ...promptIdsOf(answer, attempt) }
}

/** The same, without parsing alternatives that were not requested. */
export function quickTokensAnswer(text: string, attempt: GenerationAttempt): GenerationAnswer | undefined {
  if (attempt.sampling.topLogprobs !== undefined || attempt.promptLogprobs !== undefined) return undefined
  const scanned = scanAnswer(text)
  if (!scanned) return undefined
  const { body, ids, logprobs } = scanned
  const answer = asObject(body, 'the answer')
  const choice = onlyChoice(answer)
  const given = tokenIds(choice)
  if (given.length !== ids.length) throw new ProtocolError(`${ids.length} log-probabilities for ${given.length} tokens`)
  const wrong = given.findIndex((id, i) => id !== ids[i])
  if (wrong >= 0)
    throw new ProtocolError(`the log-probability of token ${ids[wrong]} is at the place of token ${given[wrong]}`)
  return {
    ids: given,
    logprobs,
    top: undefined,
    finish: finishOf(choice),
    versions: versionsOf(choice.weight_versions),
    promptLogprobs: undefined,
    ...promptIdsOf(answer, attempt),
  }
}

/** The prompt as the server read it; only asked for with images and videos. */
function promptIdsOf(fields: Fields, { media }: GenerationAttempt): Pick<GenerationAnswer, 'promptIds'> {
  const { prompt_token_ids: ids } = fields
  return media && Array.isArray(ids) ? { promptIds: ids as readonly number[] } : {}
}

export function completionsAnswer(body: unknown, attempt: GenerationAttempt): GenerationAnswer {
  const choice = onlyChoice(asObject(body, 'the answer'))
  return completionsChoice(choice, attempt, choice.prompt_logprobs)
}

export function tokensReader(attempt: GenerationAttempt): Read {
  return event =>
    readEvent(event, (choice, fields) => ({
      ...tokensChoice(choice, attempt, undefined),
      ...promptIdsOf(choice, attempt),
      ...promptIdsOf(fields, attempt),
    }))
}

export function completionsReader(attempt: GenerationAttempt): Read {
  return event => readEvent(event, choice => completionsChoice(choice, attempt, undefined))
}

function onlyChoice(answer: Fields): Fields {
  const choices = asArray(answer.choices, 'choices')
  if (choices.length !== 1) throw new ProtocolError(`the answer has ${choices.length} completions, but 1 was requested`)
  return asObject(choices[0], 'a completion')
}

function readEvent(
  event: string,
  read: (choice: Fields, fields: Fields) => GenerationAnswer,
): GenerationAnswer | undefined {
  if (event === '[DONE]') return undefined
  let parsed: unknown
  try {
    parsed = JSON.parse(event)
  } catch {
    throw new ProtocolError(`an event is not JSON (${event.length} characters)`)
  }
  const fields = asObject(parsed, 'an event')
  if (fields.error !== undefined) {
    const { code } = (typeof fields.error === 'object' ? (fields.error ?? {}) : {}) as { code?: unknown }
    throw new RefusalError(refusal(typeof code === 'number' ? code : 500, event, undefined))
  }
  const choices = asArray(fields.choices, 'choices')
  if (choices.length === 0) return undefined
  return read(onlyChoice(fields), fields)
}

function tokensChoice(choice: Fields, attempt: GenerationAttempt, prompt: unknown): GenerationAnswer {
  const ids = tokenIds(choice)
  const logprobs: number[] = new Array(ids.length)
  const top: TopLogprobs[] = []
  const most = attempt.sampling.topLogprobs
  const rows = ids.length === 0 ? [] : asArray(asObject(choice.logprobs, 'logprobs').content, 'logprobs.content')
  if (rows.length !== ids.length) throw new ProtocolError(`${rows.length} log-probabilities for ${ids.length} tokens`)
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as { token_id?: unknown; logprob: number; rank: number; top_logprobs?: unknown }
    if (row?.token_id !== ids[i])
      throw new ProtocolError(`the log-probability of token ${row?.token_id} is at the place of token ${ids[i]}`)
    logprobs[i] = row.logprob
    if (most !== undefined) top.push(topOf(row, most))
  }
  return {
    ids,
    logprobs,
    top: most === undefined ? undefined : top,
    finish: finishOf(choice),
    versions: versionsOf(choice.weight_versions),
    promptLogprobs: promptLogprobsOf(prompt, attempt),
  }
}

function topOf({ rank, top_logprobs: given }: { rank: number; top_logprobs?: unknown }, most: number): TopLogprobs {
  const entries = (Array.isArray(given) ? given : []) as { token_id: number; logprob: number; rank: number }[]
  const likeliest = entries.filter(entry => entry.rank <= most).sort((a, b) => a.rank - b.rank)
  return {
    rank,
    ids: Int32Array.from(likeliest, entry => entry.token_id),
    logprobs: Float32Array.from(likeliest, entry => entry.logprob),
  }
}

function completionsChoice(choice: Fields, attempt: GenerationAttempt, prompt: unknown): GenerationAnswer {
  const ids = tokenIds(choice)
  const most = attempt.sampling.topLogprobs
  let logprobs: readonly number[] = []
  let top: readonly TopLogprobs[] | undefined = most === undefined ? undefined : []
  if (ids.length > 0) {
    const given = asObject(choice.logprobs, 'logprobs')
    logprobs = asArray(given.token_logprobs, 'token_logprobs') as readonly number[]
    if (most !== undefined) {
      const rows = asArray(given.top_logprobs, 'top_logprobs')
      top = rows.map((row, i) => namedTop(row, ids[i]!, most))
    }
  }
  return {
    ids,
    logprobs,
    top,
    finish: finishOf(choice),
    versions: undefined,
    promptLogprobs: promptLogprobsOf(prompt, attempt),
  }
}

/** `{"token_id:5": -1.2}`, with the sampled token. This route has no ranks: a token beyond the likeliest gets the next rank. */
function namedTop(row: unknown, id: number, most: number): TopLogprobs {
  const entries = Object.entries(asObject(row ?? {}, 'alternatives')).map(([name, logprob]): [number, number] => [
    Number(name.slice('token_id:'.length)),
    Number(logprob),
  ])
  entries.sort((a, b) => b[1] - a[1])
  const likeliest = entries.slice(0, most)
  const rank = likeliest.findIndex(([each]) => each === id)
  return {
    rank: rank < 0 ? most + 1 : rank + 1,
    ids: Int32Array.from(likeliest, ([each]) => each),
    logprobs: Float32Array.from(likeliest, ([, logprob]) => logprob),
  }
}

function tokenIds(choice: Fields): readonly number[] {
  if (choice.token_ids === undefined || choice.token_ids === null)
    throw new ProtocolError('the answer has no token ids; vLLM 0.10.2 and later give them')
  return asArray(choice.token_ids, 'token_ids') as readonly number[]
}

function finishOf({ finish_reason: reason, stop_reason: stop }: Fields): GenerationAnswer['finish'] {
  if (reason === null || reason === undefined) return undefined
  const known = typeof stop === 'string' || typeof stop === 'number' ? stop : undefined
  if (reason === 'stop' || reason === 'repetition') return { reason: 'stop', stop: known }
  if (reason === 'length' || reason === 'abort') return { reason, stop: undefined }
  throw new ProtocolError(`unknown finish reason ${JSON.stringify(reason)}`)
}

function versionsOf(given: unknown): GenerationAnswer['versions'] {
  if (given === undefined || given === null) return undefined
  return asArray(given, 'weight_versions').map(one => {
    const { version, start, end } = asObject(one, 'weight_versions') as { version: unknown; start: number; end: number }
    return { version: String(version), start, end }
  })
}

/** `[null, {"1855": {"logprob": -8.1, "rank": 883}}, ...]`: the prompt's token and the likeliest ones. */
function promptLogprobsOf(given: unknown, attempt: GenerationAttempt): GenerationAnswer['promptLogprobs'] {
  const { promptLogprobs: most, ids } = attempt
  if (most === undefined) return undefined
  const rows = asArray(given, 'prompt_logprobs')
  if (rows.length !== ids.length)
    throw new ProtocolError(`log-probabilities for ${rows.length} of ${ids.length} prompt tokens`)
  const logprobs = new Float32Array(ids.length - 1)
  const top: TopLogprobs[] = []
  for (let i = 1; i < rows.length; i++) {
    const row = asObject(rows[i], 'prompt_logprobs') as Record<string, { logprob: number; rank: number }>
    const own = row[ids[i]!]
    if (typeof own?.logprob !== 'number') throw new ProtocolError(`no log-probability for prompt token ${i}`)
    logprobs[i - 1] = own.logprob
    const likeliest = Object.entries(row)
      .filter(([, { rank }]) => rank <= most)
      .sort(([, a], [, b]) => a.rank - b.rank)
    top.push({
      rank: own.rank,
      ids: Int32Array.from(likeliest, ([id]) => Number(id)),
      logprobs: Float32Array.from(likeliest, ([, { logprob }]) => logprob),
    })
  }
  return { logprobs, top }
}

const tooLong =
  /maximum context length|longer than the maximum model length|max_tokens must be at least 1, got (0|-)|prompt .*(too long|exceeds)/i

/** What an error status means for the sample. */
export function refusal(status: number, text: string, retryAfter: string | undefined): Refusal {
  const words = serverWords(text)
  const message = `the server answered ${status}${words === '' ? '' : `: ${words}`}`
  if (status === 400 && tooLong.test(words)) return { kind: 'prompt-too-long', message: words }
  // `policy@` begins our names of adapters: a server that does not know one was restarted.
  if (status === 404 && /policy@/.test(words)) return { kind: 'unknown-weights', message }
  if (status === 408 || status === 429 || status >= 500)
    return { kind: 'retry', message, afterMs: parseRetryAfter(retryAfter) }
  if (status === 401) return { kind: 'refused', message: `${message}. Check the API key.` }
  return { kind: 'refused', message }
}
