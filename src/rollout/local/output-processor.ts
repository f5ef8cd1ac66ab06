/** Passes the results of steps to their samples: tokens, text, and outcomes. */

import type { PolicyVersion } from '../../model/index.js'
import type { Tokenizer } from '../../text/index.js'
import type { TokenEvent, TopLogprobs } from '../generator.js'
import type { SamplingRow } from './build-batch.js'
import { type Refusal, textStream } from './input-processor.js'
import type { PromptPrefix, SequenceState } from './request-state.js'
import type { StepResult } from './step.js'

/** The sample of a row of results. */
export interface SampledRow {
  samplingRow: SamplingRow
  of: SequenceState | PromptPrefix
}

type Token = Pick<TokenEvent, 'id' | 'top'> & { raw: number; processed: number }

export class OutputProcessor {
  /** Tokens that samples have taken, each counted before its sample's outcome is reported. */
  tokens = 0

  constructor(
    private readonly tokenizer: Tokenizer | undefined,
    /** Called when a sample ends, before its outcome is reported. */
    private readonly onEnd: (sample: SequenceState, end: 'finished' | 'failed') => void,
  ) {}

  /** Passes the results of a step, from `first` on, to their samples, and ends finished ones. */
  async take(rows: readonly SampledRow[], result: StepResult, first: number, version: PolicyVersion): Promise<void> {
    const columns = rows.length === 0 ? 0 : result.topIds.length / result.ids.length
    const texts: Promise<void>[] = []
    for (const [row, { samplingRow, of }] of rows.entries()) {
      const i = first + row
      const top = samplingRow.top < 0 ? undefined : topOf(result, i, columns, samplingRow.top)
      if (samplingRow.targetId >= 0) {
        of.requestState.scores!.logprobs[samplingRow.position] = result.raw[i]!
        of.requestState.scores!.top[samplingRow.position] = top!
        continue
      }
      const sample = of as SequenceState
      if (sample.state === 'finished') continue
      const id = result.ids[i]!
      if (id < 0) {
        this.fail(sample, 'non-finite', 'the logits are not finite, or leave no token that may be sampled')
        continue
      }
      const token = { id, raw: result.raw[i]!, processed: result.processed[i]!, top }
      sample.append(id, token.raw, token.processed, top, version)
      this.tokens++
      const reading = sample.text && this.read(sample, token)
      if (reading) texts.push(reading.then(() => this.settle(sample, token, version)))
      else this.settle(sample, token, version)
    }
    if (texts.length > 0) await Promise.all(texts)
  }

  /** Adds a new token to its sample's text; a promise where that takes time. */
  private read(sample: SequenceState, token: Token): Promise<void> | undefined {
    const { requestState, response } = sample
    const stopsHere = requestState.isStop(token.id)
    const early = response.length < requestState.sampling.minNewTokens
    return sample.text!.push(stopsHere ? [] : [token.id], {
      last: stopsHere || response.length >= sample.maxNewTokens,
      ...(early ? { stops: 'ignored' as const } : {}),
    })
  }

  /** Ends a sample after a new token where a limit or a stop is reached. */
  private settle(sample: SequenceState, token: Token, version: PolicyVersion): void {
    if (sample.state === 'finished') return
    const { requestState, text } = sample
    const stopsHere = requestState.isStop(token.id)
    const full = sample.response.length >= sample.maxNewTokens
    if (requestState.listener.onToken) {
      const shown = text?.take({ last: stopsHere || full }) ?? ''
      requestState.listener.onToken({ requestId: requestState.request.id, sample: sample.index, ...token, text: shown })
    }
    if (stopsHere) void this.finish(sample, 'stop', requestState.stopReason(token.id), version)
    else if (text?.stopped !== undefined) void this.finish(sample, 'stop', text.stopped, version)
    else if (full) void this.finish(sample, 'length', undefined, version)
  }

  /** `version`: for a sample without tokens. */
  async finish(
    sample: SequenceState,
    reason: 'stop' | 'length' | 'abort',
    stopReason: string | number | undefined,
    version: PolicyVersion,
  ): Promise<void> {
    if (sample.state === 'finished') return
    this.onEnd(sample, 'finished')
    const { requestState } = sample
    let { text } = sample
    const finished = sample.toSample(reason, stopReason, undefined, version)
    if (!text && requestState.sampling.text) {
      // No listener for tokens: decodes the whole response now. The token that ended it has no text.
      text = textStream(requestState, this.tokenizer!)
      const shown = reason === 'stop' ? finished.responseIds.subarray(0, -1) : finished.responseIds
      try {
        const reading = text.push(shown, { last: true })
        if (reading) await reading
      } catch (error) {
        requestState.listener.onOutcome({
          kind: 'failed',
          ...sample.identity,
          reason: 'engine',
          message: String(error),
        })
        return
      }
    }
    finished.text = text?.text
    requestState.listener.onOutcome(finished)
  }

  reject(sample: SequenceState, refusal: Refusal): void {
    if (sample.state === 'finished') return
    this.onEnd(sample, 'failed')
    sample.requestState.listener.onOutcome({ ...refusal, ...sample.identity })
  }

  fail(sample: SequenceState, reason: 'non-finite' | 'engine', message: string): void {
    if (sample.state === 'finished') return
    this.onEnd(sample, 'failed')
    sample.requestState.listener.onOutcome({ kind: 'failed', ...sample.identity, reason, message })
  }
}

function topOf(result: StepResult, row: number, columns: number, top: number): TopLogprobs {
  const at = row * columns
  return {
    rank: result.topIds[at]!,
    ids: result.topIds.subarray(at + 1, at + 1 + top),
    logprobs: result.topLogprobs.subarray(at + 1, at + 1 + top),
  }
}
