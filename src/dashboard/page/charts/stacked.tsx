/** Columns of parts that add up, one column per iteration: which part is large is seen at once. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { number } from '../format.js'
import { type ColourName, colour, useTheme } from './theme.js'
import { useWidth } from './use-width.js'

interface StackedProps {
  readonly label: string
  readonly parts: readonly { readonly name: string; readonly colour: ColourName }[]
  /** By column, the value of each part. */
  readonly columns: readonly { readonly title: string; readonly values: readonly number[] }[]
  readonly text?: (value: number) => string
  readonly height?: number
}

const [left, bottom] = [56, 22]

export function Stacked({ label, parts, columns, text = number, height = 200 }: StackedProps) {
  const host = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const [at, setAt] = useState<number>()
  const width = useWidth(host)
  const theme = useTheme()
  useEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, { parts, columns, text, width, height })
  }, [columns, width, theme, height])
  const move = (place: number) => setAt(Math.min(columns.length - 1, Math.max(0, place)))
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    move((at ?? columns.length) + step)
  }
  const column = at === undefined ? undefined : columns[at]
  return (
    <div class="chart" ref={host}>
      <div class="readout" aria-live="polite">
        {column &&
          [
            column.title,
            ...parts.flatMap(({ name }, place) => {
              const value = column.values[place] ?? 0
              return value > 0 ? [`${name} ${text(value)}`] : []
            }),
          ].join(' · ')}
      </div>
      <div
        class="heat-map"
        role="img"
        tabIndex={0}
        aria-label={`${label}: ${columns.length} columns of ${parts.map(({ name }) => name).join(', ')}`}
        onMouseMove={({ offsetX }: MouseEvent) =>
          offsetX < left ? setAt(undefined) : move(Math.floor(((offsetX - left) / (width - left)) * columns.length))
        }
        onMouseLeave={() => setAt(undefined)}
        onKeyDown={onKeyDown}
      >
        <canvas ref={canvas} />
      </div>
    </div>
  )
}

interface Drawing extends Pick<StackedProps, 'parts' | 'columns'> {
  readonly text: (value: number) => string
  readonly width: number
  readonly height: number
}

function draw(canvas: HTMLCanvasElement, { parts, columns, text, width, height }: Drawing): void {
  const ratio = devicePixelRatio
  canvas.width = width * ratio
  canvas.height = height * ratio
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  const context = canvas.getContext('2d')!
  context.scale(ratio, ratio)
  const [plotWidth, plotHeight] = [width - left, height - bottom]
  const most = columns.reduce((top, { values }) => Math.max(top, sum(values)), 0) || 1
  context.font = '11px system-ui, sans-serif'
  context.textBaseline = 'middle'
  context.textAlign = 'right'
  const [dim, line] = [colour('dim'), colour('line')]
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const y = Math.round(plotHeight * (1 - 0.95 * share)) - 0.5
    context.strokeStyle = line
    context.beginPath()
    context.moveTo(left, y)
    context.lineTo(width, y)
    context.stroke()
    context.fillStyle = dim
    context.fillText(text(most * share), left - 6, Math.max(6, y))
  }
  const inks = parts.map(part => colour(part.colour))
  const columnWidth = plotWidth / columns.length
  const gap = columnWidth > 5 ? 1 : 0
  for (const [place, { values }] of columns.entries()) {
    let base = 0
    for (const [part, value] of values.entries()) {
      const [from, to] = [(0.95 * plotHeight * base) / most, (0.95 * plotHeight * (base + value)) / most]
      context.fillStyle = inks[part]!
      context.fillRect(left + place * columnWidth, plotHeight - to, Math.max(0.5, columnWidth - gap), to - from)
      base += value
    }
  }
  context.fillStyle = dim
  context.textBaseline = 'top'
  for (const share of [0, 0.5, 1]) {
    const title = columns[Math.round(share * (columns.length - 1))]?.title ?? ''
    context.textAlign = share === 0 ? 'left' : share === 1 ? 'right' : 'center'
    context.fillText(title, left + share * plotWidth, plotHeight + 6)
  }
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
