import { darkColour, palette } from './colours.js'
import type { Drawing, Shape } from './drawing.js'
import { fontFamily } from './font.js'

/** The drawing as an SVG file. On a dark screen it has dark colours. */
export function toSvg({ title, width, height, shapes }: Drawing): string {
  const classes = new Map<string, string>()
  const classOf = (colour: string): string => {
    if (!classes.has(colour)) classes.set(colour, `c${classes.size}`)
    return classes.get(colour)!
  }
  const drawn = shapes.map(shape => element(shape, ` class="${classOf(shape.colour)}"`))
  // Colours are also attributes: programs that know no style sheets take those.
  const dark = [...classes].flatMap(([colour, name]) => {
    const other = darkColour(colour)
    return other === undefined
      ? []
      : [`polyline.${name}{stroke:${other}}rect.${name},circle.${name},text.${name}{fill:${other}}`]
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>${escaped(title)}</title>
<style>@media (prefers-color-scheme: dark){svg{background:${palette.background.dark}}${dark.join('')}}</style>
<g font-family="${fontFamily}" stroke-linecap="round" stroke-linejoin="round">
${drawn.join('\n')}
</g>
</svg>
`
}

function element(shape: Shape, named: string): string {
  switch (shape.kind) {
    case 'box':
      return `<rect${named} x="${short(shape.x)}" y="${short(shape.y)}" width="${short(shape.width)}" height="${short(shape.height)}" fill="${shape.colour}"/>`
    case 'dot':
      return `<circle${named} cx="${short(shape.x)}" cy="${short(shape.y)}" r="${short(shape.radius)}" fill="${shape.colour}"${opacity('fill', shape)}/>`
    case 'text': {
      const [x, y] = [short(shape.x), short(shape.y)]
      const anchor = shape.align === 'start' ? '' : ` text-anchor="${shape.align}"`
      const turned = shape.upwards ? ` transform="rotate(-90 ${x} ${y})"` : ''
      return `<text${named} x="${x}" y="${y}" font-size="${short(shape.size)}"${anchor}${turned} fill="${shape.colour}">${escaped(shape.text)}</text>`
    }
    case 'line': {
      const points = shape.points.map(({ x, y }) => `${short(x)},${short(y)}`).join(' ')
      const dash = shape.dash ? ` stroke-dasharray="${shape.dash.join(' ')}"` : ''
      return `<polyline${named} points="${points}" fill="none" stroke="${shape.colour}" stroke-width="${short(shape.width)}"${dash}${opacity('stroke', shape)}/>`
    }
  }
}

function opacity(of: 'fill' | 'stroke', shape: { readonly opacity: number }): string {
  return shape.opacity < 1 ? ` ${of}-opacity="${shape.opacity}"` : ''
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100)
}

function escaped(text: string): string {
  const words: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
  // Control characters have no place in XML.
  return text.replace(/\p{Cc}/gu, ' ').replace(/[&<>]/g, character => words[character]!)
}
