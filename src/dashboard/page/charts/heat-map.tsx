/** How values are spread over time: a column per range of iterations, a row per range of values. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { HeatMap as Data } from '../../api.js'
import { count, number } from '../format.js'
import { colour, faint, useTheme } from './theme.js'
import { useWidth } from './use-width.js'

const [left, bottom, height] = [56, 22, 200]

export function HeatMap({ label, data }: { readonly label: string; readonly data: Data }) {
  const host = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const [at, setAt] = useState<{ column: number; row: number }>()
  const width = useWidth(host)
  const theme = useTheme()
  const { columns, edges } = data
  const rows = edges.length - 1

  useEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, data, width)
  }, [data, width, theme])

  const move = (column: number, row: number) =>
    setAt({
      column: Math.min(columns.length - 1, Math.max(0, column)),
      row: Math.min(rows - 1, Math.max(0, row)),
    })
  const onMouseMove = ({ offsetX, offsetY }: MouseEvent) => {
    if (offsetX < left || offsetY > height - bottom) return setAt(undefined)
    const column = Math.floor(((offsetX - left) / (width - left)) * columns.length)
    move(column, rows - 1 - Math.floor((offsetY / (height - bottom)) * rows))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key]
    if (!by) return
    event.preventDefault()
    const { column, row } = at ?? { column: columns.length - 1, row: 0 }
    move(column + by[0]!, row + by[1]!)
  }
  const cell = at && columns[at.column]
  return (
    <div class="chart" ref={host}>
      <div class="readout" aria-live="polite">
        {cell &&
          `${iterations(cell)} · ${number(edges[at.row])} to ${number(edges[at.row + 1])} · ${count(cell.counts[at.row] ?? 0)} samples of ${count(cell.counts.reduce((a, b) => a + b, 0))}`}
      </div>
      <div
        class="heat-map"
        role="img"
        tabIndex={0}
        aria-label={`${label}: a heat map of ${columns.length} columns and ${rows} rows`}
        onMouseMove={onMouseMove}
        onMouseLeave={() => setAt(undefined)}
        onKeyDown={onKeyDown}
      >
        <canvas ref={canvas} />
      </div>
    </div>
  )
}

const iterations = ({ from, to }: { from: number; to: number }): string =>
  from === to ? `iteration ${from}` : `iterations ${from} to ${to}`

function draw(canvas: HTMLCanvasElement, { columns, edges }: Data, width: number): void {
  const ratio = devicePixelRatio
  canvas.width = width * ratio
  canvas.height = height * ratio
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  const context = canvas.getContext('2d')!
  context.scale(ratio, ratio)
  const rows = edges.length - 1
  const [cellWidth, cellHeight] = [(width - left) / columns.length, (height - bottom) / rows]
  const accent = colour('accent')
  for (const [place, { counts }] of columns.entries()) {
    const most = counts.reduce((a, b) => Math.max(a, b), 0)
    for (const [row, found] of counts.entries()) {
      if (found === 0) continue
      // The root makes rare values visible beside common ones.
      context.fillStyle = faint(accent, 0.12 + 0.88 * Math.sqrt(found / most))
      const top = height - bottom - (row + 1) * cellHeight
      context.fillRect(left + place * cellWidth, top, Math.ceil(cellWidth), Math.ceil(cellHeight))
    }
  }
  context.fillStyle = colour('dim')
  context.strokeStyle = colour('line')
  context.strokeRect(left + 0.5, 0.5, width - left - 1, height - bottom - 1)
  context.font = '11px system-ui, sans-serif'
  context.textAlign = 'right'
  context.textBaseline = 'middle'
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const edge = edges[Math.round(part * rows)] ?? 0
    const y = (height - bottom) * (1 - Math.round(part * rows) / rows)
    context.fillText(number(edge), left - 6, Math.min(height - bottom - 6, Math.max(6, y)))
  }
  context.textBaseline = 'top'
  for (const part of [0, 0.5, 1]) {
    const column = columns[Math.round(part * (columns.length - 1))]
    if (!column) continue
    context.textAlign = part === 0 ? 'left' : part === 1 ? 'right' : 'center'
    context.fillText(String(part === 1 ? column.to : column.from), left + part * (width - left), height - bottom + 6)
  }
}
