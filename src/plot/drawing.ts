/** A picture as lines, dots, boxes and texts: all that curves need, and little enough to be drawn anywhere. */

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Line {
  readonly kind: 'line'
  readonly points: readonly Point[]
  readonly width: number
  /** `#rrggbb`. */
  readonly colour: string
  /** From 0 to 1. */
  readonly opacity: number
  /** Lengths of the dashes and of the gaps between them. Default: one line. */
  readonly dash?: readonly [on: number, off: number] | undefined
}

export interface Dot {
  readonly kind: 'dot'
  readonly x: number
  readonly y: number
  readonly radius: number
  readonly colour: string
  readonly opacity: number
}

export interface Box {
  readonly kind: 'box'
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly colour: string
}

export interface Text {
  readonly kind: 'text'
  readonly text: string
  readonly x: number
  /** Of the line that the letters stand on. */
  readonly y: number
  /** Of the font: an em. */
  readonly size: number
  readonly colour: string
  readonly align: 'start' | 'middle' | 'end'
  /** Read from the bottom to the top, for a vertical axis. Default: from left to right. */
  readonly upwards?: true | undefined
}

export type Shape = Line | Dot | Box | Text

export interface Drawing {
  /** What it shows, for those who cannot see it. */
  readonly title: string
  readonly width: number
  readonly height: number
  readonly shapes: readonly Shape[]
}

export function line(points: readonly Point[], style: Omit<Line, 'kind' | 'points'>): Line {
  return { kind: 'line', points, ...style }
}

export function text(words: string, style: Omit<Text, 'kind' | 'text' | 'align'> & { align?: Text['align'] }): Text {
  return { kind: 'text', text: words, align: 'start', ...style }
}
