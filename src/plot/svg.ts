import type { Drawing } from './drawing.js'

/** The drawing as an SVG file. */
export function toSvg({ title, width, height, shapes }: Drawing): string {
  const drawn = shapes.map(shape => {
    if (shape.kind === 'box')
      return `<rect x="${short(shape.x)}" y="${short(shape.y)}" width="${short(shape.width)}" height="${short(shape.height)}" fill="${shape.colour}"/>`
    const points = shape.points.map(({ x, y }) => `${short(x)},${short(y)}`).join(' ')
    const opacity = shape.opacity < 1 ? ` stroke-opacity="${shape.opacity}"` : ''
    return `<polyline points="${points}" stroke="${shape.colour}" stroke-width="${short(shape.width)}"${opacity}/>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>${escaped(title)}</title>
<g fill="none" stroke-linecap="round" stroke-linejoin="round">
${drawn.join('\n')}
</g>
</svg>
`
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100)
}

function escaped(text: string): string {
  const words: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
  // Control characters have no place in XML.
  return text.replace(/\p{Cc}/gu, ' ').replace(/[&<>]/g, character => words[character]!)
}
