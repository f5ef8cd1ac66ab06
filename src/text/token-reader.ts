/** Text of tokens as they come, a few at a time. */
import type { ByteLevelTokens } from './byte-level.js'
import type { Tokenizer } from './tokenizer.js'

export interface TokenReader {
  /** What more tokens add to the text. An unfinished character is kept for the next ones, or is U+FFFD with `last`. */
  read(ids: ArrayLike<number>, options: { last: boolean }): string | Promise<string>
}

interface ReaderOptions {
  skipSpecialTokens: boolean
  /** Tokens before the first that is read. */
  before: Int32Array
}

/** Tokens before that matter. */
const context = 5

export function tokenReader(tokenizer: Pick<Tokenizer, 'decode' | 'byteLevel'>, options: ReaderOptions): TokenReader {
  const before = options.before.subarray(-context)
  return tokenizer.byteLevel
    ? new ByteReader(tokenizer.byteLevel, { ...options, before })
    : new WindowReader(tokenizer, { ...options, before })
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const none = new Uint8Array(0)

/** Joins what tokens stand for. */
class ByteReader implements TokenReader {
  /** The beginning of a character. */
  private begun: Uint8Array = none
  /** It was begun before the first token. */
  private begunBefore = false

  constructor(
    private readonly tokens: ByteLevelTokens,
    private readonly options: ReaderOptions,
  ) {
    this.read(options.before, { last: false })
    this.begunBefore = true
  }

  read(ids: ArrayLike<number>, { last }: { last: boolean }): string {
    let text = ''
    for (let i = 0; i < ids.length; i++) {
      const piece = this.tokens.pieceOf(ids[i]!, this.options)
      if (piece.length === 0) continue
      if (typeof piece === 'string') text += this.giveUp() + piece
      else text += this.join(piece)
    }
    return last ? text + this.giveUp() : text
  }

  private join(bytes: Uint8Array): string {
    const before = isContinuation(bytes[0]!) ? '' : this.giveUp()
    const all = this.begun.length === 0 ? bytes : Uint8Array.of(...this.begun, ...bytes)
    const end = all.length - unfinishedLength(all)
    this.begun = all.subarray(end)
    this.begunBefore = false
    return before + decoder.decode(all.subarray(0, end))
  }

  /** The text of a character that will not be finished. One that was begun before is not part of this text. */
  private giveUp(): string {
    if (this.begun.length === 0) return ''
    const text = this.begunBefore ? '' : decoder.decode(this.begun)
    this.begun = none
    return text
  }
}

function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte < 0xc0
}

/** How many bytes at the end are the beginning of a character that more bytes may finish. */
function unfinishedLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (isContinuation(byte)) continue
    const size = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
    return back < size ? back : 0
  }
  return 0
}

const unfinished = '�'

/** How a token reads may depend on the one before, so text is decoded in windows that begin at the last settled token. */
class WindowReader implements TokenReader {
  private readonly ids: number[]
  private settled: number
  private from = 0

  constructor(
    private readonly tokenizer: Pick<Tokenizer, 'decode'>,
    private readonly options: ReaderOptions,
  ) {
    this.ids = Array.from(options.before)
    this.settled = this.ids.length
  }

  async read(ids: ArrayLike<number>, { last }: { last: boolean }): Promise<string> {
    for (let i = 0; i < ids.length; i++) this.ids.push(ids[i]!)
    const { skipSpecialTokens } = this.options
    const [before, all] = await Promise.all([
      this.tokenizer.decode(this.ids.slice(this.from, this.settled), { skipSpecialTokens }),
      this.tokenizer.decode(this.ids.slice(this.from), { skipSpecialTokens }),
    ])
    if (!last && (all.length <= before.length || all.endsWith(unfinished))) return ''
    this.from = this.settled
    this.settled = this.ids.length
    return all.slice(before.length)
  }
}
