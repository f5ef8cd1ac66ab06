/** Curves of a hundred thousand points for a chart that is a thousand wide: means with the extremes they hide. Pure. */
import type { MetricSeries } from '../run/index.js'
import type { Curve } from './api.js'

export function thinned(series: MetricSeries, most: number): Omit<Curve, 'metric'> {
  const { length } = series.values
  const known = (value: number): number | null => (Number.isFinite(value) ? value : null)
  if (length <= most)
    return {
      steps: Array.from(series.steps),
      values: Array.from(series.values, known),
    }
  const steps: number[] = []
  const values: (number | null)[] = []
  const low: (number | null)[] = []
  const high: (number | null)[] = []
  for (let part = 0; part < most; part++) {
    const from = Math.floor((part * length) / most)
    const to = Math.floor(((part + 1) * length) / most)
    let [sum, count, least, largest] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (let i = from; i < to; i++) {
      const value = series.values[i]!
      if (!Number.isFinite(value)) continue
      sum += value
      count++
      least = Math.min(least, value)
      largest = Math.max(largest, value)
    }
    steps.push(series.steps[to - 1]!)
    values.push(count === 0 ? null : sum / count)
    low.push(known(least))
    high.push(known(largest))
  }
  return { steps, values, low, high }
}
