/** A picture as lines and boxes: all that curves need, and little enough to be drawn anywhere. Text is lines too. */

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
}

export interface Box {
  readonly kind: 'box'
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly colour: string
}

export interface Drawing {
  readonly title: string
  readonly width: number
  readonly height: number
  readonly shapes: readonly (Line | Box)[]
}
