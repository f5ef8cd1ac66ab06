/** Colours of pictures. Each has one for dark screens, which an SVG file takes where the reader's screen is dark. */

/** Every colour is readable as a text on its background: a contrast of 4.5 or more. */
export const palette = {
  background: { light: '#ffffff', dark: '#0d1117' },
  ink: { light: '#24292f', dark: '#e6edf3' },
  faint: { light: '#656c76', dark: '#9198a1' },
  grid: { light: '#e3e5e8', dark: '#2b3138' },
} as const

/** After Okabe and Ito, whose colours people with any colour vision can tell apart; the light ones are darker here. */
export const series = [
  { light: '#0072b2', dark: '#4aa8e0' },
  { light: '#c24e00', dark: '#ff8c42' },
  { light: '#007a58', dark: '#2fc596' },
  { light: '#a8427c', dark: '#e58fc0' },
  { light: '#7a6000', dark: '#e0b422' },
  { light: '#00758f', dark: '#56c7e0' },
  { light: '#24292f', dark: '#e6edf3' },
] as const

export function colourOf(index: number): string {
  return series[index % series.length]!.light
}

/** Of a colour of a drawing; undefined for one that is not of this list. */
export function darkColour(light: string): string | undefined {
  return [...Object.values(palette), ...series].find(one => one.light === light)?.dark
}
