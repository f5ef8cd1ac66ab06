/**
 * Text of a response as its tokens come, and stop strings in it. Bytes of one character may be spread over tokens, and how a
 * token reads may depend on the one before, so text is decoded in windows that begin at the last settled token.
 */
import type { Tokenizer } from '../text/index.js'

/** Tokens of the prompt that the response's first ones are read after. */
const context = 5
const unfinished = '�'

export interface TextStreamOptions {
  skipSpecialTokens: boolean
  stop: readonly string[]
}

export class TextStream {
  private readonly ids: number[]
  private settled: number
  private from = 0
  /** Everything that is certain, up to a stop string. */
  text = ''
  /** The stop string that was found. */
  stopped: string | undefined
  private given = 0
  /** Stop strings are searched from here on. */
  private floor = 0
  private readonly longest: number

  constructor(
    private readonly tokenizer: Pick<Tokenizer, 'decode'>,
    promptIds: Int32Array,
    private readonly options: TextStreamOptions,
  ) {
    this.ids = Array.from(promptIds.subarray(Math.max(0, promptIds.length - context)))
    this.settled = this.ids.length
    this.longest = Math.max(0, ...options.stop.map(stop => stop.length))
  }

  /** Takes tokens; `last` also settles what may be part of a character. `stops: 'ignored'`: in their text nothing stops. */
  async push(ids: ArrayLike<number>, options: { last?: boolean; stops?: 'ignored' } = {}): Promise<void> {
    if (this.stopped !== undefined) return
    for (let i = 0; i < ids.length; i++) this.ids.push(ids[i]!)
    const { skipSpecialTokens } = this.options
    const [before, all] = await Promise.all([
      this.tokenizer.decode(this.ids.slice(this.from, this.settled), { skipSpecialTokens }),
      this.tokenizer.decode(this.ids.slice(this.from), { skipSpecialTokens }),
    ])
    if (!options.last && (all.length <= before.length || all.endsWith(unfinished))) return
    const searched = Math.max(this.floor, this.text.length - this.longest + 1)
    this.text += all.slice(before.length)
    this.from = this.settled
    this.settled = this.ids.length
    if (options.stops === 'ignored') {
      this.floor = this.text.length
      return
    }
    let found = Number.POSITIVE_INFINITY
    for (const stop of this.options.stop) {
      const at = this.text.indexOf(stop, searched)
      if (at >= 0 && at < found) {
        found = at
        this.stopped = stop
      }
    }
    if (this.stopped !== undefined) this.text = this.text.slice(0, found)
  }

  /** What can be shown and was not given yet. Text that may be the beginning of a stop string is held back until the end. */
  take(options: { last?: boolean } = {}): string {
    const whole = options.last || this.stopped !== undefined
    const end = whole ? this.text.length : Math.max(this.given, this.text.length - Math.max(0, this.longest - 1))
    const part = this.text.slice(this.given, end)
    this.given = end
    return part
  }
}
