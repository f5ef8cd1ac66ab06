/**
 * The last line of a terminal, redrawn in place. It belongs to the work that began last and is not over; lines that stay are
 * written above it, also those that others write to the same terminal.
 */
import { textColumns } from './width.js'

export interface Terminal {
  write(text: string): void
  /** The width of now. */
  columns(): number
  /** Calls `work` from time to time until what it returns is called. Default: a line is redrawn only when something happens. */
  readonly every?: ((work: () => void) => () => void) | undefined
}

/** Something that may be shown: its line for a number of columns. */
export type Drawn = (columns: number) => string

/** Room for the `^C` that a terminal echoes behind the line. */
const echo = 3
const leastMs = 100

export class Screen {
  readonly #shown: Drawn[] = []
  #first: Drawn | undefined
  #text = ''
  /** Columns of what is drawn now. */
  #taken = 0
  #drawnAt = Number.NEGATIVE_INFINITY
  /** Another writer wrote a text without a line end: the next line must not overwrite it. */
  #midLine = false
  #stop: (() => void) | undefined

  constructor(
    private readonly terminal: Terminal,
    private readonly now: () => number,
  ) {}

  /** Shown until anything else is written. */
  start(first: Drawn): void {
    this.#first = first
    this.#changed()
  }

  add(drawn: Drawn): void {
    this.#first = undefined
    this.#shown.push(drawn)
    this.#changed()
  }

  remove(drawn: Drawn): void {
    const place = this.#shown.indexOf(drawn)
    if (place < 0) return
    this.#shown.splice(place, 1)
    this.#changed()
  }

  /** Draws again; `soon`: not more often than the eye can follow. */
  redraw(when: 'now' | 'soon' = 'now'): void {
    if (when === 'soon' && this.now() - this.#drawnAt < leastMs) return
    const drawn = this.#shown.at(-1) ?? this.#first
    if (this.#midLine) return
    if (!drawn) {
      this.wipe()
      return
    }
    const columns = this.terminal.columns()
    const text = drawn(Math.max(1, columns - echo))
    const taken = textColumns(text)
    this.#drawnAt = this.now()
    if (text === this.#text && taken <= columns) return
    // Without the terminal's wrapping: a character that is wider than we think is cut off, and the line can still be wiped.
    this.terminal.write(`${this.#wiped()}\x1b[?7l${text}\x1b[?7h`)
    this.#text = text
    this.#taken = taken
  }

  /** A line that stays, above the one that is redrawn. */
  line(text: string): void {
    this.above(`${text}\n`, more => this.terminal.write(more))
  }

  /** Writes a text of others above the line. */
  above(text: string, write: (text: string) => void): void {
    this.#first = undefined
    if (this.#shown.length === 0) this.#ticking('off')
    this.wipe()
    write(text)
    if (text !== '') this.#midLine = !text.endsWith('\n')
    this.redraw()
  }

  /** Takes the line away. */
  wipe(): void {
    if (this.#text === '') return
    this.terminal.write(this.#wiped())
    this.#text = ''
    this.#taken = 0
  }

  /** A terminal that became narrower has broken the line into several rows. */
  #wiped(): string {
    const rows = Math.ceil(this.#taken / Math.max(1, this.terminal.columns()))
    return rows > 1 ? `\r\x1b[${rows - 1}A\x1b[J` : '\r\x1b[K'
  }

  #changed(): void {
    this.redraw()
    this.#ticking(this.#shown.length > 0 || this.#first ? 'on' : 'off')
  }

  #ticking(mode: 'on' | 'off'): void {
    if (mode === 'on') this.#stop ??= this.terminal.every?.(() => this.redraw())
    if (mode === 'off') {
      this.#stop?.()
      this.#stop = undefined
    }
  }
}
