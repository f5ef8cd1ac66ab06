/** What is known of a sample so far: tokens, log-probabilities, alternatives and which weights made them. */
import type { PolicyVersion } from '../../model/index.js'
import type { TopLogprobs, VersionSpan } from '../generator.js'

export interface RecordedTokens {
  readonly ids: readonly number[]
  readonly logprobs: readonly number[]
  readonly top: readonly TopLogprobs[] | undefined
}

export class SampleRecord {
  private readonly allIds: number[] = []
  private readonly allLogprobs: number[] = []
  private readonly allTop: TopLogprobs[] = []
  private readonly spans: VersionSpan[] = []

  get length(): number {
    return this.allIds.length
  }

  get ids(): readonly number[] {
    return this.allIds
  }

  get top(): readonly TopLogprobs[] {
    return this.allTop
  }

  get versions(): readonly VersionSpan[] {
    return this.spans
  }

  get logprobs(): readonly number[] {
    return this.allLogprobs
  }

  append({ ids, logprobs, top }: RecordedTokens, version: PolicyVersion): void {
    const start = this.allIds.length
    for (let i = 0; i < ids.length; i++) {
      this.allIds.push(ids[i]!)
      this.allLogprobs.push(logprobs[i]!)
      if (top) this.allTop.push(top[i]!)
    }
    this.stamp(version, start, this.allIds.length)
  }

  /** Says anew which weights made the tokens from `offset` on; the spans count from there. */
  restamp(offset: number, spans: readonly VersionSpan[]): void {
    this.cutSpans(offset)
    for (const { version, start, end } of spans) this.stamp(version, offset + start, offset + end)
  }

  /** Forgets the tokens after the first `length`. */
  truncate(length: number): void {
    this.allIds.length = Math.min(length, this.allIds.length)
    this.allLogprobs.length = this.allIds.length
    this.allTop.length = Math.min(length, this.allTop.length)
    this.cutSpans(length)
  }

  private cutSpans(length: number): void {
    while (this.spans.length > 0 && this.spans.at(-1)!.start >= length) this.spans.pop()
    const last = this.spans.at(-1)
    if (last && last.end > length) last.end = length
  }

  private stamp(version: PolicyVersion, start: number, end: number): void {
    if (end <= start) return
    const last = this.spans.at(-1)
    if (last?.version === version) last.end = end
    else this.spans.push({ version, start, end })
  }
}
