/** A terminal of so many columns: what a person would see of what a program writes. */
import { textColumns } from '../../src/progress/width.js'

interface Cell {
  readonly text: string
  readonly columns: number
}

/** A row, and whether it goes on in the next because it was full. */
interface Row {
  cells: Cell[]
  wrapped: boolean
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

export class VirtualScreen {
  /** How often a text went over the right edge. */
  wraps = 0
  /** How often a line that is redrawn in place did, which the terminal then cut off. */
  cuts = 0
  #rows: Row[] = [{ cells: [], wrapped: false }]
  #row = 0
  #column = 0
  #wrapping = true
  /** Whether a person sees where the cursor is. */
  cursorShown = true

  constructor(private width: number) {}

  get columns(): number {
    return this.width
  }

  /** Rows as texts, without empty ones at the end. */
  get lines(): string[] {
    const lines = this.#rows.map(({ cells }) =>
      cells
        .map(({ text }) => text)
        .join('')
        .trimEnd(),
    )
    while (lines.at(-1) === '') lines.pop()
    return lines
  }

  get cursor(): { row: number; column: number } {
    return { row: this.#row, column: this.#column }
  }

  write(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal obeys
    const parts = text.matchAll(/\x1b\[(\??)([0-9;]*)([A-Za-z])|[\r\n\b\x07]|[^\x1b\r\n\b\x07]+/g)
    for (const [part, mode, given, command] of parts) {
      if (part === '\r') this.#column = 0
      else if (part === '\n') this.#newLine(false)
      else if (part === '\b') this.#column = Math.max(0, this.#column - 1)
      else if (part === '\x07') continue
      else if (command === undefined) for (const { segment } of graphemes.segment(part)) this.#put(segment)
      else this.#obey(command, mode === '?', given ?? '')
    }
  }

  /** Another width, as most terminals take it: rows that are too long are broken, rows that were broken are joined. */
  resize(width: number): void {
    const whole: Cell[][] = []
    let at = { line: 0, cell: 0 }
    let joined = false
    for (const [place, { cells, wrapped }] of this.#rows.entries()) {
      if (!joined) whole.push([])
      if (place === this.#row) at = { line: whole.length - 1, cell: whole.at(-1)!.length + this.#column }
      whole.at(-1)!.push(...cells)
      joined = wrapped
    }
    this.width = width
    this.#rows = []
    for (const [line, cells] of whole.entries()) {
      const first = this.#rows.length
      const pieces = Math.max(1, Math.ceil(cells.length / width))
      for (let piece = 0; piece < pieces; piece++)
        this.#rows.push({ cells: cells.slice(piece * width, (piece + 1) * width), wrapped: piece < pieces - 1 })
      if (line !== at.line) continue
      const piece = Math.min(pieces - 1, Math.floor(at.cell / width))
      this.#row = first + piece
      this.#column = Math.min(width, at.cell - piece * width)
    }
  }

  #put(segment: string): void {
    const columns = textColumns(segment)
    if (this.#column + columns > this.width) {
      this.wraps++
      if (!this.#wrapping) {
        this.cuts++
        return
      }
      this.#newLine(true)
      this.#column = 0
    }
    const { cells } = this.#rows[this.#row]!
    while (cells.length < this.#column) cells.push({ text: ' ', columns: 1 })
    cells[this.#column] = { text: segment, columns }
    for (let more = 1; more < columns; more++) cells[this.#column + more] = { text: '', columns: 0 }
    this.#column += columns
  }

  #newLine(wrapped: boolean): void {
    this.#rows[this.#row]!.wrapped = wrapped
    this.#row++
    this.#column = 0
    if (this.#row === this.#rows.length) this.#rows.push({ cells: [], wrapped: false })
  }

  #obey(command: string, isMode: boolean, given: string): void {
    const row = this.#rows[this.#row]!
    if (command === 'm') return
    if (isMode && given === '7') this.#wrapping = command === 'h'
    else if (isMode && given === '25') this.cursorShown = command === 'h'
    // Bracketed paste.
    else if (isMode && given === '2004') return
    else if (command === 'G') this.#column = Number(given || 1) - 1
    else if (command === 'C') this.#column += Number(given || 1)
    else if (command === 'D') this.#column = Math.max(0, this.#column - Number(given || 1))
    else if (command === 'K') row.cells = row.cells.slice(0, this.#column)
    else if (command === 'A') this.#row = Math.max(0, this.#row - Number(given || 1))
    else if (command === 'J') {
      row.cells = row.cells.slice(0, this.#column)
      row.wrapped = false
      this.#rows = this.#rows.slice(0, this.#row + 1)
    } else throw new Error(`a terminal need not know ESC [ ${given} ${command}`)
  }
}
