import { InputError, ProblemList } from '../errors/index.js'

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
  readonly #problems: ProblemList

  constructor(
    private readonly file: string,
    /** How many are listed; the rest are counted. */
    listed = 10,
  ) {
    this.#problems = new ProblemList(listed)
  }

  add(line: number, message: string): void {
    this.#problems.add(`line ${line}`, message)
  }

  /** Throws one {@link InputError} for all lines that were added; does nothing when there were none. */
  throwIfAny(): void {
    const { count, lines } = this.#problems
    if (count === 0) return
    const what = count === 1 ? 'a bad line' : `${count.toLocaleString('en')} bad lines`
    throw new InputError([`${this.file}: ${what}; nothing was written`, ...lines].join('\n'))
  }
}
