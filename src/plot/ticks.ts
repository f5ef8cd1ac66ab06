/** Round numbers for an axis. */
import { shortText } from '../progress/index.js'

/** About `count` round numbers that lie between two. */
export function ticks(low: number, high: number, count: number): number[] {
  const rough = (high - low) / count
  if (!(rough > 0) || !Number.isFinite(rough)) return [low]
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * ([1, 2, 5, 10].find(factor => factor * power >= rough) ?? 10)
  const first = Math.ceil(low / step - 1e-9)
  const last = Math.floor(high / step + 1e-9)
  // By multiplication: sums of a step gather errors that show in the labels.
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => Number(((first + i) * step).toPrecision(12)))
}

/** The labels of ticks, in as few digits as tell them apart. */
export function tickLabels(values: readonly number[]): string[] {
  for (let digits = 3; digits < 10; digits++) {
    const labels = values.map(value => shortText(value, digits))
    if (new Set(labels).size === labels.length) return labels
  }
  return values.map(String)
}
