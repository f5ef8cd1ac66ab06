/** Reads answers to generation requests: whole ones and streams. */
import { StringDecoder } from 'node:string_decoder'
import type { Dialect, GenerationAnswer, GenerationAttempt } from './dialect.js'
import type { Reply } from './engine-client.js'
import { ProtocolError, RefusalError } from './errors.js'
import { inTurn, isLong, parseLong, parseShort } from './parse-json.js'
import type { Replica } from './replica.js'

/** Throws a `ProtocolError` for an answer that cannot be right. `before`: tokens of this attempt in earlier events. */
export function checkAnswer(
  answer: GenerationAnswer,
  attempt: GenerationAttempt,
  { vocabSize, before }: { vocabSize: number; before: number },
): void {
  const { ids, logprobs, top, finish, versions } = answer
  const wrong = (what: string): never => {
    throw new ProtocolError(what)
  }
  const total = before + ids.length
  if (total > attempt.maxNewTokens)
    wrong(`the answer has ${total} tokens, but at most ${attempt.maxNewTokens} were requested`)
  if (logprobs.length !== ids.length) wrong(`${logprobs.length} log-probabilities for ${ids.length} tokens`)
  if (top && top.length !== ids.length) wrong(`top log-probabilities for ${top.length} of ${ids.length} tokens`)
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!
    if (!(Number.isInteger(id) && id >= 0 && id < vocabSize))
      wrong(`token id ${id} is outside the vocabulary of ${vocabSize}`)
    if (!Number.isFinite(logprobs[i])) wrong(`a log-probability is ${logprobs[i]}`)
  }
  if (finish && finish.reason !== 'abort' && total === 0)
    wrong(`the response has no tokens, but the finish reason ${finish.reason}`)
  if (versions) {
    let at = 0
    for (const { start, end } of versions) {
      if (start !== at || end < start) wrong('the weight versions do not cover the tokens')
      at = end
    }
    if (at !== total) wrong(`the weight versions cover ${at} of ${total} tokens`)
  }
}

/** Splits a stream into the data of its server-sent events. A piece may end anywhere. */
export class EventLines {
  private readonly decoder = new StringDecoder('utf8')
  private rest = ''

  /** The events that this piece completes. */
  push(piece: Buffer): string[] {
    const lines = (this.rest + this.decoder.write(piece)).split('\n')
    this.rest = lines.pop()!
    const events: string[] = []
    for (const line of lines) {
      if (!line.startsWith('data:')) continue
      const end = line.endsWith('\r') ? -1 : undefined
      events.push(line.slice(line[5] === ' ' ? 6 : 5, end))
    }
    return events
  }

  /** Characters of the incomplete event. */
  get pending(): number {
    return this.rest.length
  }
}

/** Reads a whole answer, and lets the next one be read. */
export async function readAnswer(
  reply: Reply,
  dialect: Dialect,
  attempt: GenerationAttempt,
  replica: Replica,
): Promise<GenerationAnswer> {
  const { facts } = replica
  try {
    const { text } = checkStatus(reply, dialect, replica)
    if (isLong(text)) return dialect.answer(await parseLong(text), attempt, facts)
    return await inTurn(
      () => dialect.quickAnswer?.(text, attempt, facts) ?? dialect.answer(parseShort(text), attempt, facts),
    )
  } finally {
    reply.release()
  }
}

/** Throws a `RefusalError` for an error status. */
export function checkStatus(reply: Reply, dialect: Dialect, { client }: Replica): Reply {
  const { status, text, retryAfter } = reply
  if (status >= 200 && status <= 299) return reply
  throw new RefusalError(dialect.refusal(status, client.hide(text), retryAfter), status)
}
