/** How a file format stores rows: where each ends, and how to parse it. */
import type { RowBoundary } from './row-splitter.js'

export type DataRow = Readonly<Record<string, unknown>>

export type ParsedRow =
  | { readonly kind: 'row'; readonly value: unknown }
  | { readonly kind: 'bad'; readonly reason: string; readonly message: string }
  /** An empty line: nothing at the end of a file, a mistake between rows. */
  | { readonly kind: 'blank' }
  /** What belongs to the file and is no row, such as a header. */
  | { readonly kind: 'none' }

export interface RowFormat {
  readonly boundary: RowBoundary
  /** `cells`: every value is text, and is read as what is expected of it. */
  readonly values: 'typed' | 'cells'
  /** How a row is named: by its line, or by its number. */
  readonly named: 'line' | 'row'
  /** One row; the same bytes give the same row at any time. A {@link DataError} where the whole file is wrong. */
  parse(text: string, line: number): ParsedRow
  /** What is wrong with a file that ends here; undefined where nothing is. */
  atEnd(): string | undefined
}

const notJson = (cause: unknown): ParsedRow => ({
  kind: 'bad',
  reason: 'json',
  // The message quotes the row, which may have several lines.
  message: `not JSON (${(cause as Error).message.replaceAll(/\s*[\r\n]+\s*/g, ' ')})`,
})

/** JSON as a row, or why it is none. */
export function parseJson(text: string): ParsedRow {
  try {
    return { kind: 'row', value: JSON.parse(text.trimEnd()) }
  } catch (cause) {
    return notJson(cause)
  }
}
