/**
 * Decodes the text of a sample from its ids. The server's text cannot be used: where a response comes from several requests, a stop string
 * may span two of them.
 */
import type { Tokenizer } from '../../text/index.js'
import type { ResolvedSampling } from '../sampling.js'
import { TextStream } from '../text-stream.js'

type TextSampling = Pick<ResolvedSampling, 'text' | 'stop' | 'minNewTokens'>

const streamOf = (tokenizer: Tokenizer, promptIds: Int32Array, { text, stop }: TextSampling): TextStream =>
  new TextStream(tokenizer, promptIds, { skipSpecialTokens: text !== 'with-special', stop })

/** Text of a stream. */
export class SampleText {
  private readonly stream: TextStream
  private found: { end: number; stop: string } | undefined
  /** The decoding under way, where the tokenizer has to be waited for. */
  private reading: Promise<void> | undefined

  constructor(
    tokenizer: Tokenizer,
    promptIds: Int32Array,
    private readonly sampling: TextSampling,
  ) {
    this.stream = streamOf(tokenizer, promptIds, sampling)
  }

  get shown(): string {
    return this.stream.text
  }

  get stopFound(): { end: number; stop: string } | undefined {
    return this.found
  }

  /** Reports the ids from `from` on, until a stop string. `endsWithoutText`: the last id ended the response and has no text. */
  read(
    ids: readonly number[],
    from: number,
    { isLast, endsWithoutText }: { isLast: (index: number) => boolean; endsWithoutText: boolean },
    event: (index: number, text: string) => void,
  ): void | Promise<void> {
    const until = ids.length
    const step = (start: number): void | Promise<void> => {
      for (let i = start; i < until; i++) {
        if (this.found) return undefined
        const last = isLast(i)
        const silent = last && endsWithoutText
        const early = i + 1 < this.sampling.minNewTokens
        const waits = this.stream.push(silent ? [] : [ids[i]!], {
          last,
          ...(early ? { stops: 'ignored' as const } : {}),
        })
        const tell = (): void => {
          if (this.stream.stopped !== undefined) this.found = { end: i + 1, stop: this.stream.stopped }
          event(i, this.stream.take({ last: last || this.found !== undefined }))
        }
        if (waits)
          return waits.then(() => {
            tell()
            return step(i + 1)
          })
        tell()
      }
      return undefined
    }
    if (!this.reading) {
      const waits = step(from)
      if (waits) this.hold(waits)
      return waits
    }
    const waits = this.reading.then(() => step(from))
    this.hold(waits)
    return waits
  }

  private hold(waits: Promise<void>): void {
    const held = waits.finally(() => {
      if (this.reading === held) this.reading = undefined
    })
    this.reading = held
    held.catch(() => {})
  }
}

/** The whole text, and the number of tokens up to the end of a stop string. */
export async function finalText(
  tokenizer: Tokenizer,
  promptIds: Int32Array,
  ids: readonly number[],
  { sampling, reason, stop }: { sampling: TextSampling; reason: string; stop: string | number | undefined },
): Promise<{ text: string; end: number; stop: string | undefined }> {
  const stream = streamOf(tokenizer, promptIds, sampling)
  const endsWithoutText = reason === 'stop' && typeof stop !== 'string'
  const count = endsWithoutText ? ids.length - 1 : ids.length
  let end = ids.length
  if (sampling.stop.length === 0) {
    const waits = stream.push(ids.slice(0, count), { last: true })
    if (waits) await waits
  } else
    for (let i = 0; i < count; i++) {
      const early = i + 1 < sampling.minNewTokens
      const waits = stream.push([ids[i]!], { last: i === count - 1, ...(early ? { stops: 'ignored' as const } : {}) })
      if (waits) await waits
      if (stream.stopped !== undefined) {
        end = i + 1
        break
      }
    }
  return { text: stream.text, end, stop: stream.stopped }
}
