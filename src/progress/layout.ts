/** One line of progress in a given number of columns. Pure. */
import { noColour, type Paint } from './colour.js'
import { durationText } from './numbers.js'
import { cutText, oneLine, textColumns } from './width.js'

/** How far a work of many steps has come. */
export interface Status {
  /** What comes first: `grpo 12/80`. */
  readonly at: string
  /** From 0 to 1. */
  readonly share?: number | undefined
  /** `3 min left`. */
  readonly left?: string | undefined
  /** Metrics, the most important first. In a narrow terminal the last ones are left out. */
  readonly details?: readonly string[] | undefined
}

/** What is being done, and how far it has come: `generating`, `34 of 64 samples`. */
export interface Activity {
  readonly text: string
  readonly far?: string | undefined
}

interface TransferState {
  readonly label: string
  readonly amount: number
  readonly total?: number | undefined
  /** Said in place of the speed. */
  readonly how?: string | undefined
  /** Seconds since the beginning. */
  readonly seconds: number
  readonly show: (amount: number) => string
}

const indent = '  '
const barCells = 24
/** A training's bar stands beside many other things. */
const smallBarCells = 12
/** Narrower terminals have no bar beside the steps. */
const barFrom = 100

/** Steps, time left and activity first; then as many metrics as fit, each whole. */
export function statusLine(
  status: Status | undefined,
  activity: Activity | undefined,
  columns: number,
  paint: Paint = noColour,
): string {
  const room = columns - indent.length
  const at = status ? [{ text: oneLine(status.at), colour: 'bold' as const }] : []
  const bar =
    status?.share !== undefined && columns >= barFrom ? [{ text: barText(status.share, smallBarCells, paint) }] : []
  const left = status?.left === undefined ? [] : [{ text: status.left }]
  const doing = activity ? [{ text: oneLine(activityText(activity)), colour: 'cyan' as const }] : []
  const details = (status?.details ?? []).map(text => ({ text: oneLine(text) }))
  const parts: { text: string; colour?: 'bold' | 'cyan' }[] = []
  let taken = 0
  for (const part of [...at, ...bar, ...left, ...doing, ...details]) {
    if (part.text === '') continue
    const gap = parts.length === 0 ? 0 : 2
    const free = room - taken - gap
    const wanted = textColumns(part.text)
    const cut = wanted <= free
    // What comes first is cut in the middle where it must be; a metric is there or not.
    if (!cut && (details as object[]).includes(part)) break
    if (free < 1) break
    const text = cut ? part.text : cutText(part.text, free)
    parts.push({ ...part, text })
    taken += gap + textColumns(text)
    if (!cut) break
  }
  return (
    indent.slice(0, Math.max(0, columns)) +
    parts.map(({ text, colour }) => (colour ? paint(text, colour) : text)).join('  ')
  )
}

export const activityText = ({ text, far }: Activity): string => (far ? `${text} ${far}` : text)

/** Label, bar, share, speed, time left. In a narrow terminal the speed goes first, then the bar; at last the label is cut. */
export function transferLine(state: TransferState, columns: number, paint: Paint = noColour): string {
  const { amount, total, how, seconds, show } = state
  const label = oneLine(state.label)
  const room = Math.max(1, columns - indent.length)
  const fitting = (candidates: readonly string[]): string =>
    indent + (candidates.find(text => textColumns(text) <= room) ?? cutText(label, room))
  // Nothing is known yet.
  if (amount === 0 && !how) return fitting([seconds >= 2 ? `${label} ${durationText(seconds)}` : label, label])
  const speed = how ?? `${show(amount / Math.max(0.1, seconds))}/s`
  if (!total) return fitting([`${label} ${show(amount)}  ${speed}`, `${label} ${show(amount)}`, label])
  const share = Math.min(1, amount / total)
  const percent = `${Math.floor(share * 100)} %`
  const whole = `${percent} of ${show(total)}`
  const left = seconds >= 2 && share > 0 && share < 1 ? `  ${durationText((seconds / share) * (1 - share))} left` : ''
  const bar = barText(share, barCells, paint)
  const short = cutText(label, Math.max(1, room - percent.length - 1))
  return fitting([
    `${label} ${bar} ${whole}  ${speed}${left}`,
    `${label} ${bar} ${whole}${left}`,
    `${label} ${whole}${left}`,
    `${label} ${whole}`,
    `${short} ${percent}`,
  ])
}

function barText(share: number, cells: number, paint: Paint): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * cells)
  return `[${paint('#'.repeat(full), 'green')}${paint('.'.repeat(cells - full), 'dim')}]`
}
