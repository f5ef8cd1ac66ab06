/** One request to a server for a response, and what its end means for the sample. */
import type { PolicyVersion } from '../../model/index.js'
import type { Failure, Sample, VersionSpan } from '../generator.js'
import type { Dialect, GenerationAnswer, GenerationAttempt, Refusal } from './dialect.js'
import type { Exchange } from './engine-client.js'
import { EngineError, ProtocolError, RefusalError, TransportError } from './errors.js'
import { checkAnswer, checkStatus, EventLines, readAnswer } from './read-answer.js'
import type { Replica } from './replica.js'
import type { SampleTask } from './sample-task.js'
import { checkPromptIds } from './sent-media.js'

const longestEvent = 64 << 20

/** Why this client ended an attempt. */
export type CancelReason = 'aborted' | 'drained' | 'paused' | 'closed'

export type AttemptEnd =
  /** All of its tokens are in the sample's record. */
  | { readonly kind: 'ended'; readonly finish: NonNullable<GenerationAnswer['finish']>; readonly tokens: number }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly status: number }
  /** The server answered with other weights than it was given. `tokens`: tokens of a stream that were passed on before this was known. */
  | { readonly kind: 'other-weights'; readonly message: string; readonly tokens: number }
  | { readonly kind: 'cancelled'; readonly reason: CancelReason }
  /** Tokens of a stream from before the failure are in the record. */
  | { readonly kind: 'failed'; readonly error: TransportError | ProtocolError }

interface AttemptOptions {
  readonly dialect: Dialect
  readonly vocabSize: number
  readonly timeoutMs: number
  /** Called as tokens arrive. */
  readonly onTokens: (count: number) => void
}

export class RunningAttempt {
  startedAt = performance.now()
  /** Version of the server's weights when this was sent. */
  readonly version: PolicyVersion
  /** Tokens of the sample when this was sent. */
  private readonly offset: number
  /** The server was told to end it: an answer without tokens is then no failure. */
  isBrokenOff = false
  /** Resolves when it has ended. Never rejects. */
  done: Promise<void> = Promise.resolve()
  private exchange: Exchange | undefined
  private cancelled: CancelReason | undefined
  private finish: GenerationAnswer['finish']
  private otherWeights: string | undefined

  constructor(
    readonly attempt: GenerationAttempt,
    readonly task: SampleTask,
    readonly replica: Replica,
  ) {
    this.version = replica.version!
    this.offset = task.record.length
  }

  private get tokens(): number {
    return this.task.record.length - this.offset
  }

  /** Does not count the time of a pause. */
  excuse(heldMs: number): void {
    this.startedAt = Math.min(performance.now(), this.startedAt + heldMs)
  }

  /** Closes the connection; the server notices. */
  cancel(reason: CancelReason): void {
    this.cancelled ??= reason
    this.exchange?.cancel()
  }

  start(options: AttemptOptions, onEnd: (end: AttemptEnd) => void): void {
    this.done = this.run(options).then(onEnd)
  }

  private async run({ dialect, vocabSize, timeoutMs, onTokens }: AttemptOptions): Promise<AttemptEnd> {
    const { attempt, replica } = this
    const { facts, client } = replica
    try {
      const prepared = attempt.media && (await dialect.prepare?.(client, attempt, facts))
      if (this.cancelled) return { kind: 'cancelled', reason: this.cancelled }
      const { path, body } = dialect.generation(attempt, facts, prepared)
      const sent = { method: 'POST', path, body, timeoutMs } as const
      if (attempt.transport === 'stream') await this.stream(dialect, { vocabSize, onTokens }, sent)
      else {
        this.exchange = replica.client.exchange({ ...sent, reads: 'in turn' })
        const given = await readAnswer(await this.exchange.reply, dialect, attempt, replica)
        if (!given.finish) throw new ProtocolError('the answer has no finish reason')
        if (attempt.media) checkPromptIds(given, attempt)
        checkAnswer(given, attempt, { vocabSize, before: 0 })
        const answer = this.task.read(given)
        const spans = this.versionsOf(answer)
        if (typeof spans === 'string') return { kind: 'other-weights', message: spans, tokens: 0 }
        onTokens(answer.ids.length)
        await this.task.append(answer, this.version)
        if (spans) this.task.record.restamp(this.offset, spans)
        this.finish = answer.finish
      }
    } catch (error) {
      return this.ended(error)
    }
    return { kind: 'ended', finish: this.finish!, tokens: this.tokens }
  }

  private async stream(
    dialect: Dialect,
    { vocabSize, onTokens }: Pick<AttemptOptions, 'vocabSize' | 'onTokens'>,
    sent: { method: 'POST'; path: string; body: string; timeoutMs: number },
  ): Promise<void> {
    const { attempt, replica, task } = this
    const lines = new EventLines()
    const read = dialect.reader(attempt, replica.facts)
    const waiting: Promise<void>[] = []
    let isChecked = attempt.media === undefined
    const take = (answer: GenerationAnswer): void => {
      if (!isChecked) checkPromptIds(answer, attempt)
      isChecked = true
      checkAnswer(answer, attempt, { vocabSize, before: this.tokens })
      const spans = this.versionsOf(answer)
      if (typeof spans === 'string') {
        this.otherWeights = spans
        throw new ProtocolError(spans)
      }
      onTokens(answer.ids.length)
      const waits = task.append(answer, replica.version ?? this.version)
      if (waits) waiting.push(waits)
      if (spans) task.record.restamp(this.offset, spans)
      this.finish ??= answer.finish
      replica.heard()
    }
    const onPiece = (piece: Buffer): void => {
      for (const event of lines.push(piece)) {
        const answer = this.finish || task.stopFound ? undefined : read(event)
        if (answer) take(answer)
      }
      if (lines.pending > longestEvent) throw new ProtocolError(`an event has more than ${longestEvent} characters`)
      if (task.stopFound) this.exchange!.cancel()
    }
    this.exchange = replica.client.exchange({ ...sent, onPiece })
    try {
      checkStatus(await this.exchange.reply, dialect, replica)
    } catch (error) {
      if (!task.stopFound) throw error
    } finally {
      await Promise.all(waiting)
    }
    const { stopFound } = task
    if (stopFound) {
      task.record.truncate(stopFound.end)
      this.finish = { reason: 'stop', stop: stopFound.stop }
    }
    if (!this.finish) throw new ProtocolError('the stream ended before the response')
  }

  /** Our versions of the weights the server names; a string is the reason why they are wrong. */
  private versionsOf({ versions }: GenerationAnswer): VersionSpan[] | string | undefined {
    const { replica, attempt } = this
    if (!versions || !replica.marksVersions || attempt.adapter !== undefined) return undefined
    const spans: VersionSpan[] = []
    for (const { version: marker, start, end } of versions) {
      const version = replica.versionOf(marker)
      if (version === undefined || version < this.version)
        return `the server answered with the weights "${marker}", but it was given others`
      spans.push({ version, start, end })
    }
    return spans
  }

  private ended(error: unknown): AttemptEnd {
    if (error instanceof RefusalError) return { kind: 'refused', refusal: error.refusal, status: error.status }
    if (this.otherWeights !== undefined)
      return { kind: 'other-weights', message: this.otherWeights, tokens: this.tokens }
    if (this.cancelled) return { kind: 'cancelled', reason: this.cancelled }
    if (error instanceof TransportError || error instanceof ProtocolError) return { kind: 'failed', error }
    if (error instanceof EngineError) return { kind: 'failed', error: new ProtocolError(error.message) }
    // A bug of this client: the sample's failure carries the stack.
    return { kind: 'failed', error: new ProtocolError(String((error as Error)?.stack ?? error)) }
  }
}

type Move =
  | { kind: 'finish'; reason: Sample['finishReason']; stop: string | number | undefined }
  | { kind: 'fail'; reason: Exclude<Failure['reason'], 'non-finite'>; message: string }
  | { kind: 'reject'; message: string }
  /** `elsewhere`: on another server, where there is one. `message`: for the log. `busy`: the server's words where it has no room. */
  | { kind: 'again'; elsewhere: boolean; message?: string; busy?: string }

/** How many attempts may fail in each way before the sample fails. */
const most = { protocol: 3, server: 5, timeout: 2, broken: 8, fruitless: 20 }

/** Whether the sample has its outcome now, or needs another attempt. */
export function nextMove(running: RunningAttempt, end: AttemptEnd): Move {
  const { task, attempt, replica } = running
  const { failures, record } = task
  const failed = (kind: keyof typeof most, reason: Exclude<Failure['reason'], 'non-finite'>, message: string): Move =>
    ++failures[kind] >= most[kind]
      ? { kind: 'fail', reason, message: `${message}${most[kind] > 1 ? ` (${most[kind]} attempts)` : ''}` }
      : { kind: 'again', elsewhere: true, message }
  const abort: Move = { kind: 'finish', reason: 'abort', stop: undefined }
  switch (end.kind) {
    case 'ended': {
      const { reason, stop } = end.finish
      if (reason === 'stop') return { kind: 'finish', reason, stop }
      if (record.length >= task.maxNewTokens) return { kind: 'finish', reason: 'length', stop: undefined }
      if (task.isAborted) return abort
      // The server's own limit, or all tokens that this attempt asked for.
      if (reason === 'length')
        return end.tokens < attempt.maxNewTokens
          ? { kind: 'finish', reason: 'length', stop: undefined }
          : { kind: 'again', elsewhere: false }
      if (end.tokens > 0 || running.isBrokenOff) return { kind: 'again', elsewhere: false }
      return failed('fruitless', 'engine', `${replica.url}: the server ended the request without a token`)
    }
    case 'cancelled':
      return end.reason === 'aborted' || end.reason === 'closed' || task.isAborted
        ? abort
        : { kind: 'again', elsewhere: end.reason === 'drained' }
    case 'other-weights':
      // Tokens of unknown weights were passed on and cannot be taken back.
      if (end.tokens > 0) return { kind: 'fail', reason: 'protocol', message: `${replica.url}: ${end.message}` }
      return { kind: 'again', elsewhere: true, message: end.message }
    case 'refused': {
      const { refusal, status } = end
      const message = `${replica.url}: ${refusal.message}`
      if (task.isAborted) return abort
      if (refusal.kind === 'prompt-too-long')
        return record.length > 0
          ? { kind: 'finish', reason: 'length', stop: undefined }
          : { kind: 'reject', message: refusal.message }
      if (refusal.kind === 'refused') return { kind: 'fail', reason: 'engine', message }
      if (refusal.kind === 'unknown-weights') return { kind: 'again', elsewhere: true, message }
      // A busy server is no failure; the pool limits the wait.
      if (status === 429 || refusal.afterMs !== undefined) return { kind: 'again', elsewhere: true, busy: message }
      return failed('server', 'engine', message)
    }
    case 'failed': {
      const { error } = end
      if (task.isAborted) return abort
      if (!('kind' in error)) return failed('protocol', 'protocol', `${replica.url}: ${error.message}`)
      return error.kind === 'timeout'
        ? failed('timeout', 'timeout', error.message)
        : failed('broken', 'unreachable', error.message)
    }
  }
}
