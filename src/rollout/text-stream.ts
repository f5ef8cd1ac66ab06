/** Decodes a response token by token, and finds stop strings in it. */
import { type Tokenizer, type TokenReader, tokenReader } from '../text/index.js'

export interface TextStreamOptions {
  skipSpecialTokens: boolean
  stop: readonly string[]
}

/** Keeps the text in three parts: searching or cutting a growing string copies it, so only the last, short part is searched. */
export class TextStream {
  /** The stop string that was found. */
  stopped: string | undefined
  private readonly reader: TokenReader
  private readonly stop: readonly string[]
  private readonly longest: number
  private given = ''
  private free = ''
  /** Possibly the beginning of a stop string. */
  private held = ''

  constructor(
    tokenizer: Pick<Tokenizer, 'decode' | 'byteLevel'>,
    promptIds: Int32Array,
    { skipSpecialTokens, stop }: TextStreamOptions,
  ) {
    this.reader = tokenReader(tokenizer, { skipSpecialTokens, before: promptIds })
    this.stop = stop
    this.longest = Math.max(0, ...stop.map(one => one.length))
  }

  /** All certain text, up to a stop string. */
  get text(): string {
    return this.given + this.free + this.held
  }

  /**
   * Adds tokens. `last`: incomplete characters are decoded too. `stops: 'ignored'`: stop strings in their text are ignored. A promise where
   * the tokenizer has to be waited for.
   */
  push(
    ids: ArrayLike<number>,
    { last = false, stops }: { last?: boolean; stops?: 'ignored' } = {},
  ): Promise<void> | undefined {
    if (this.stopped !== undefined) return undefined
    const read = this.reader.read(ids, { last })
    if (typeof read !== 'string') return read.then(text => this.append(text, stops))
    this.append(read, stops)
    return undefined
  }

  private append(text: string, stops: 'ignored' | undefined): void {
    if (text === '') return
    const tail = this.held + text
    if (stops === 'ignored' || this.longest === 0) {
      this.free += tail
      this.held = ''
      return
    }
    let end = Number.POSITIVE_INFINITY
    for (const stop of this.stop) {
      const at = tail.indexOf(stop)
      if (at >= 0 && at < end) {
        end = at
        this.stopped = stop
      }
    }
    if (this.stopped === undefined) end = wholeCharacters(tail, Math.max(0, tail.length - this.longest + 1))
    this.free += tail.slice(0, end)
    this.held = this.stopped === undefined ? tail.slice(end) : ''
  }

  /** New text since the last call. Text that may begin a stop string is held back until the end. */
  take({ last = false }: { last?: boolean } = {}): string {
    if (last) {
      this.free += this.held
      this.held = ''
    }
    const part = this.free
    this.given += part
    this.free = ''
    return part
  }
}

/** `end`, or one less where it would split a surrogate pair. */
function wholeCharacters(text: string, end: number): number {
  const parts = end > 0 && end < text.length && text.codePointAt(end - 1)! > 0xffff
  return parts ? end - 1 : end
}
