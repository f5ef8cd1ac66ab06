/**
 * One sample: sends requests until it has its outcome, exactly once. Each request asks for the missing tokens, after the prompt and the
 * tokens so far. A server that stops, dies or gets new weights costs only time.
 */
import type { PolicyVersion } from '../../model/index.js'
import { joinIds } from '../../sequence/index.js'
import type { FailureReason, Outcome, Sample, SampleLogprobs, TopLogprobs, VersionSpan } from '../generator.js'
import type { GenerationAnswer, GenerationAttempt, ServerFacts } from './dialect.js'
import { attemptSeed, drawHot, hotQuestion, isHot } from './hot-first-token.js'
import type { RequestTask } from './request-task.js'
import { finalText, SampleText } from './sample-text.js'

type FinishReason = Sample['finishReason']

export class SampleTask {
  readonly record = new SampleRecord()
  readonly maxNewTokens: number
  readonly transport: GenerationAttempt['transport']
  /** Number of failed attempts, by kind. */
  readonly failures = { protocol: 0, server: 0, timeout: 0, broken: 0, fruitless: 0 }
  /** The caller ended it: it keeps the tokens it has. */
  isAborted = false
  outcome: Outcome | undefined
  private readonly text: SampleText | undefined
  private promptLogprobs: Sample['promptLogprobs']
  private busySince: number | undefined
  private started: number | undefined
  private firstToken: number | undefined

  constructor(
    readonly request: RequestTask,
    readonly sample: number,
    index: number,
  ) {
    const { sampling, listener, limits } = request
    this.maxNewTokens = request.maxNewTokens(index)
    this.transport = listener.onToken ? 'stream' : 'whole'
    if (listener.onToken && (sampling.text || sampling.stop.length > 0))
      this.text = new SampleText(limits.tokenizer!, request.promptIds, sampling)
  }

  get identity(): { requestId: string; promptId: string; sample: number; seed: number } {
    const { request, promptId, sampling } = this.request
    return { requestId: request.id, promptId, sample: this.sample, seed: sampling.seed }
  }

  /** The next request: for all missing tokens, or for the first one alone where that has a temperature of its own. */
  nextAttempt(id: string, adapter: string | undefined, facts: ServerFacts): GenerationAttempt {
    this.started ??= performance.now()
    const { request, record } = this
    const { sampling, promptIds, promptId } = request
    const { temperature, firstTemperature, seed } = sampling
    const offset = record.length
    const isFirst = offset === 0
    const maxNewTokens = isFirst && firstTemperature !== temperature ? 1 : this.maxNewTokens - offset
    // Only whole answers have prompt log-probabilities; they are asked for once.
    const wantsPrompt = sampling.promptLogprobs !== undefined && !this.promptLogprobs
    const drawsHere = isFirst && isHot(sampling, request.limits)
    return {
      id,
      ids: isFirst ? promptIds : joinIds(promptIds, record.ids),
      media: request.sent,
      idsJson: isFirst ? request.idsJson : `${request.idsJson.slice(0, -1)},${record.ids.join(',')}]`,
      maxNewTokens: wantsPrompt && this.transport === 'stream' ? 1 : maxNewTokens,
      minNewTokens: Math.min(maxNewTokens, Math.max(0, sampling.minNewTokens - offset)),
      temperature: drawsHere ? 1 : isFirst ? firstTemperature : temperature,
      seed: attemptSeed(seed, promptId, this.sample, facts.seeds === 'position' ? 0 : offset),
      sampling: drawsHere ? hotQuestion(sampling, request.limits) : sampling,
      adapter,
      promptLogprobs: wantsPrompt ? sampling.promptLogprobs : undefined,
      transport: wantsPrompt || drawsHere ? 'whole' : this.transport,
    }
  }

  /** Whether servers were busy for longer than `patienceMs`. */
  isBusyTooLong(patienceMs: number): boolean {
    const now = performance.now()
    this.busySince ??= now
    return now - this.busySince > patienceMs
  }

  /** Draws a hot first token from the server's likeliest ones. */
  read(answer: GenerationAnswer): GenerationAnswer {
    const { sampling, limits, promptId } = this.request
    if (this.record.length > 0 || !isHot(sampling, limits)) return answer
    return drawHot(answer, { sampling, limits, promptId, sample: this.sample })
  }

  /** Adds tokens and reports them. A promise where text has to be waited for. */
  append(answer: GenerationAnswer, version: PolicyVersion): void | Promise<void> {
    const { record, request } = this
    const { ids, logprobs, top } = answer
    this.busySince = undefined
    if (ids.length > 0) this.firstToken ??= performance.now()
    if (answer.promptLogprobs) this.promptLogprobs = answer.promptLogprobs
    const before = record.length
    record.append({ ids, logprobs, top: request.sampling.topLogprobs === undefined ? undefined : top }, version)
    const { onToken } = request.listener
    if (onToken) return this.tell(before, answer)
  }

  private tell(before: number, { finish }: GenerationAnswer): void | Promise<void> {
    const { record, text, request } = this
    const { onToken } = request.listener
    const count = record.length
    const isLast = (i: number): boolean => i === count - 1 && (finish?.reason === 'stop' || count === this.maxNewTokens)
    const event = (i: number, shown: string): void => {
      const value = record.logprobs[i]!
      const { meanings } = request
      onToken!({
        requestId: request.request.id,
        sample: this.sample,
        id: record.ids[i]!,
        raw: meanings.includes('raw') ? value : undefined,
        processed: meanings.includes('processed') ? value : undefined,
        top: record.top[i],
        text: shown,
      })
    }
    if (!text) {
      for (let i = before; i < count; i++) event(i, '')
      return undefined
    }
    const stopId = finish?.reason === 'stop' && typeof finish.stop !== 'string'
    return text.read(record.ids, before, { isLast, endsWithoutText: stopId }, event)
  }

  /** A stop string that spans two requests: no server could see it. */
  get stopFound(): { end: number; stop: string } | undefined {
    return this.text?.stopFound
  }

  /** Ends the sample. */
  async finish(reason: FinishReason, stopReason: string | number | undefined, version: PolicyVersion): Promise<void> {
    const { request } = this
    const { sampling, limits } = request
    let end: { reason: FinishReason; stop: string | number | undefined } = { reason, stop: stopReason }
    let text: string | undefined
    if (this.text) text = this.text.shown
    else if (sampling.text || sampling.stop.length > 0) {
      try {
        const found = await finalText(limits.tokenizer!, request.promptIds, this.record.ids, { sampling, ...end })
        if (found.end < this.record.length) {
          this.record.truncate(found.end)
          end = { reason: 'stop', stop: found.stop }
        }
        text = found.text
      } catch (error) {
        this.fail('engine', `the text of the response: ${(error as Error).message}`)
        return
      }
    }
    this.settle(this.toSample(end.reason, end.stop, text, version))
  }

  private toSample(
    finishReason: FinishReason,
    stopReason: string | number | undefined,
    text: string | undefined,
    version: PolicyVersion,
  ): Sample {
    const { request, record } = this
    const { versions } = record
    return {
      kind: 'completed',
      ...this.identity,
      promptIds: request.promptIds,
      responseIds: Int32Array.from(record.ids),
      finishReason,
      stopReason,
      logprobs: this.namedLogprobs(),
      topLogprobs: request.sampling.topLogprobs === undefined ? undefined : record.top,
      promptLogprobs: this.promptLogprobs,
      text,
      policyVersion: versions[0]?.version ?? version,
      versions,
      timings: {
        startedMs: (this.started ?? performance.now()) - request.arrived,
        firstTokenMs: this.firstToken === undefined ? undefined : this.firstToken - request.arrived,
        finishedMs: performance.now() - request.arrived,
        preemptions: 0,
      },
    }
  }

  private namedLogprobs(): SampleLogprobs {
    const values = Float32Array.from(this.record.logprobs)
    const named: SampleLogprobs = {}
    for (const meaning of this.request.meanings) named[meaning] = values
    return named
  }

  fail(reason: Exclude<FailureReason, 'non-finite'>, message: string): void {
    this.settle({ kind: 'failed', ...this.identity, reason, message })
  }

  reject(message: string): void {
    this.settle({ kind: 'rejected', ...this.identity, reason: 'prompt-too-long', message })
  }

  private settle(outcome: Outcome): void {
    if (this.outcome) return
    this.outcome = outcome
    this.request.listener.onOutcome(outcome)
  }
}

interface RecordedTokens {
  readonly ids: readonly number[]
  readonly logprobs: readonly number[]
  readonly top: readonly TopLogprobs[] | undefined
}

/** The tokens of a sample so far, their log-probabilities and the versions of the weights that made them. */
export class SampleRecord {
  readonly ids: number[] = []
  readonly logprobs: number[] = []
  readonly top: TopLogprobs[] = []
  readonly versions: VersionSpan[] = []

  get length(): number {
    return this.ids.length
  }

  append({ ids, logprobs, top }: RecordedTokens, version: PolicyVersion): void {
    const start = this.ids.length
    for (let i = 0; i < ids.length; i++) {
      this.ids.push(ids[i]!)
      this.logprobs.push(logprobs[i]!)
      if (top) this.top.push(top[i]!)
    }
    this.stamp(version, start, this.ids.length)
  }

  /** Replaces the versions of the tokens from `offset` on; the spans count from there. */
  restamp(offset: number, spans: readonly VersionSpan[]): void {
    this.cutSpans(offset)
    for (const { version, start, end } of spans) this.stamp(version, offset + start, offset + end)
  }

  /** Keeps the first `length` tokens. */
  truncate(length: number): void {
    this.ids.length = Math.min(length, this.ids.length)
    this.logprobs.length = this.ids.length
    this.top.length = Math.min(length, this.top.length)
    this.cutSpans(length)
  }

  private cutSpans(length: number): void {
    while (this.versions.length > 0 && this.versions.at(-1)!.start >= length) this.versions.pop()
    const last = this.versions.at(-1)
    if (last && last.end > length) last.end = length
  }

  private stamp(version: PolicyVersion, start: number, end: number): void {
    if (end <= start) return
    const last = this.versions.at(-1)
    if (last?.version === version) last.end = end
    else this.versions.push({ version, start, end })
  }
}
