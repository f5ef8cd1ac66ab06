/** Curves before they are drawn. */
import type { Point } from './drawing.js'

/** Fewer points than this are drawn as they are. */
const smoothedFrom = 20

/**
 * The curve's trend: an exponential moving average over about a thirtieth of it, with the start not pulled to zero. Undefined for a curve
 * of few points. Values that are no numbers are gaps in both.
 */
export function smooth(points: readonly Point[]): Point[] | undefined {
  const finite = points.filter(({ y }) => Number.isFinite(y)).length
  if (finite < smoothedFrom) return undefined
  const keep = Math.exp(-30 / finite)
  let sum = 0
  let weight = 0
  return points.map(({ x, y }) => {
    if (!Number.isFinite(y)) return { x, y }
    sum = keep * sum + (1 - keep) * y
    weight = keep * weight + (1 - keep)
    return { x, y: sum / weight }
  })
}

/** Stretches of neighbouring points that are numbers. */
export function stretches(points: readonly Point[]): Point[][] {
  const found: Point[][] = [[]]
  for (const point of points)
    if (Number.isFinite(point.y)) found.at(-1)!.push(point)
    else if (found.at(-1)!.length > 0) found.push([])
  return found.filter(({ length }) => length > 0)
}

/** The same curve to the eye in at most four points for each of `columns`: its first, lowest, highest and last there. */
export function thin(points: readonly Point[], columns: number): Point[] {
  if (points.length <= 4 * columns) return [...points]
  const low = points[0]!.x
  const width = (points.at(-1)!.x - low) / columns || 1
  const groups = new Map<number, number[]>()
  points.forEach(({ x }, index) => {
    const column = Math.min(columns - 1, Math.floor((x - low) / width))
    const group = groups.get(column)
    if (group) group.push(index)
    else groups.set(column, [index])
  })
  return [...groups.values()].flatMap(group => {
    const by = (better: (a: number, b: number) => boolean) =>
      group.reduce((best, index) => (better(points[index]!.y, points[best]!.y) ? index : best))
    const kept = new Set([group[0]!, by((a, b) => a < b), by((a, b) => a > b), group.at(-1)!])
    return [...kept].sort((a, b) => a - b).map(index => points[index]!)
  })
}
