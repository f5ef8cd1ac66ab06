/** How many columns of a terminal a text takes, and how to make it fit. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control sequences
const colourCodes = /\x1b\[[0-9;]*m/g
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Code points that take two columns: East Asian wide and full-width ones. */
const wide: readonly (readonly [from: number, to: number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f200, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f900, 0x1faff],
  [0x20000, 0x3fffd],
]

/** Columns of a text in a terminal. Colours take none. */
export function textColumns(text: string): number {
  const plain = text.replace(colourCodes, '')
  if (!/[^\x20-\x7e]/.test(plain)) return plain.length
  let columns = 0
  for (const { segment } of graphemes.segment(plain)) columns += graphemeColumns(segment)
  return columns
}

function graphemeColumns(segment: string): number {
  if (/^[\p{Cc}\p{Mn}\p{Me}\p{Cf}]+$/u.test(segment)) return 0
  if (/\p{Emoji_Presentation}|\ufe0f|\u200d/u.test(segment)) return 2
  const code = segment.codePointAt(0)!
  return wide.some(([from, to]) => code >= from && code <= to) ? 2 : 1
}

/** The beginning of a text without colours that takes at most so many columns; dots stand for what was cut. */
export function cutText(text: string, columns: number): string {
  if (textColumns(text) <= columns) return text
  const dots = '.'.repeat(Math.max(0, Math.min(3, columns - 1)))
  let [cut, taken] = ['', 0]
  for (const { segment } of graphemes.segment(text)) {
    taken += graphemeColumns(segment)
    if (taken > columns - dots.length) break
    cut += segment
  }
  return cut.trimEnd() + dots
}

/**
 * Lines of prose, broken between words where the terminal would break them within one. A command stays whole, to be copied: it begins
 * with its program, behind some spaces. Lines that go on have the indent of the first.
 */
export function wrapText(text: string, columns: number): string {
  return text
    .split('\n')
    .map(line => (textColumns(line) <= columns || program.test(line) ? line : wrapped(line, columns)))
    .join('\n')
}

const program = /^ *(?:\$ )?(?:npx |npm |whetstone |curl |ollama |node |hf )/

function wrapped(line: string, columns: number): string {
  const indent = /^ */.exec(line)![0]
  const rows: string[] = []
  let row = indent
  for (const word of line.slice(indent.length).split(/(?<=\S)(?= )/)) {
    const next = indent + word.trimStart()
    // A word that is longer than a row is broken by the terminal anyway.
    if (row !== indent && textColumns(row + word) > columns && textColumns(next) <= columns) {
      rows.push(row)
      row = next
    } else row += word
  }
  return [...rows, row].join('\n')
}

/** A text for one line: a name of a file or a metric may have anything in it. */
export function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}
