import { InputError } from '../errors/index.js'

/** One line of a JSONL file, parsed; an {@link InputError} says what is wrong with it, without its number. */
export function parseJsonLine(text: string): unknown {
  if (text.trim() === '') throw new InputError('empty')
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new InputError(`not JSON (${(cause as Error).message})`, { cause })
  }
}

/** Collects problems of the lines of a file, to report all of them at once. */
export class BadLines {
  readonly #messages: string[] = []
  #count = 0

  constructor(
    private readonly file: string,
    /** How many are listed; the rest are counted. */
    private readonly listed = 10,
  ) {}

  add(line: number, message: string): void {
    this.#count++
    if (this.#messages.length < this.listed) this.#messages.push(`\n  line ${line}: ${message}`)
  }

  /** Throws one {@link InputError} for all lines that were added; does nothing when there were none. */
  throwIfAny(): void {
    if (this.#count === 0) return
    const what = this.#count === 1 ? 'a bad line' : `${this.#count} bad lines`
    const unlisted = this.#count - this.#messages.length
    const more = unlisted > 0 ? `\n  and ${unlisted} more` : ''
    throw new InputError(`${this.file}: ${what}; nothing was written${this.#messages.join('')}${more}`)
  }
}
