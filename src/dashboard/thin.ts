/** Curves of a hundred thousand points for a chart that is a thousand wide: means with the extremes they hide. Pure. */
import type { Curve } from './api.js'

interface Point {
  readonly step: number
  readonly time: number
  readonly value: number
}

export function thinned(points: readonly Point[], most: number): Omit<Curve, 'metric'> {
  const known = (value: number): number | null => (Number.isFinite(value) ? value : null)
  if (points.length <= most)
    return {
      steps: points.map(({ step }) => step),
      times: points.map(({ time }) => time),
      values: points.map(({ value }) => known(value)),
    }
  const steps: number[] = []
  const times: number[] = []
  const values: (number | null)[] = []
  const low: (number | null)[] = []
  const high: (number | null)[] = []
  for (let part = 0; part < most; part++) {
    const from = Math.floor((part * points.length) / most)
    const to = Math.floor(((part + 1) * points.length) / most)
    let [sum, count, least, largest] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (let i = from; i < to; i++) {
      const { value } = points[i]!
      if (!Number.isFinite(value)) continue
      sum += value
      count++
      least = Math.min(least, value)
      largest = Math.max(largest, value)
    }
    const { step, time } = points[to - 1]!
    steps.push(step)
    times.push(time)
    values.push(count === 0 ? null : sum / count)
    low.push(known(least))
    high.push(known(largest))
  }
  return { steps, times, values, low, high }
}
