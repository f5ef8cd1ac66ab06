/**
 * Encodes texts outside the event loop, a limited number at the same time: the same threads read files and resolve names. Short texts do not
 * wait for long ones.
 */
import type { BoundedEncoding, EncodeUpToOptions, Tokenizer } from '../text/index.js'

/** A text of this many characters is encoded in about a millisecond. */
const short = 4096

export class EncodeQueue {
  private running = 0
  private readonly waiting: (() => void)[] = []

  constructor(
    private readonly tokenizer: Pick<Tokenizer, 'encodeUpTo'>,
    private readonly atOnce = 2,
  ) {}

  async encode(text: string, options: EncodeUpToOptions): Promise<BoundedEncoding> {
    if (text.length <= short) return this.tokenizer.encodeUpTo(text, options)
    await this.turn(options.signal)
    try {
      return await this.tokenizer.encodeUpTo(text, options)
    } finally {
      this.running--
      this.waiting.shift()?.()
    }
  }

  /** Resolves when it may run. The signal ends the wait. */
  private turn(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (this.running < this.atOnce) {
      this.running++
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const start = (): void => {
        signal?.removeEventListener('abort', leave)
        this.running++
        resolve()
      }
      const leave = (): void => {
        this.waiting.splice(this.waiting.indexOf(start), 1)
        reject(signal!.reason)
      }
      this.waiting.push(start)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }
}
