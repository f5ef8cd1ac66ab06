/** Colours of terminals. */

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] } as const

export type Paint = (text: string, colour: keyof typeof codes) => string

export const noColour: Paint = text => text
export const inColour: Paint = (text, colour) => {
  const [on, off] = codes[colour]
  return text === '' ? '' : `\x1b[${on}m${text}\x1b[${off}m`
}

interface ColourFacts {
  readonly isTerminal: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Whether to colour: FORCE_COLOR first, then NO_COLOR (any value but an empty one), then what the terminal is. */
export function paintFor({ isTerminal, env }: ColourFacts): Paint {
  const { FORCE_COLOR: force, NO_COLOR: none, TERM: terminal } = env
  if (force !== undefined) return force === '0' || force === 'false' ? noColour : inColour
  if (none !== undefined && none !== '') return noColour
  return isTerminal && terminal !== 'dumb' ? inColour : noColour
}
