/** Numbers as people read them. One way for progress lines, summaries, lists and pictures. */

/** Smaller than this is rounding noise of sums that cancel. */
const noise = 1e-9

/**
 * A number in a few digits: `0.3512`, `12,346`, `4.98e-6`. Noise near 0 is `0`.
 *
 * @example
 * numberText(6.939e-18) // 0
 */
export function numberText(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return String(value)
  const size = Math.abs(value)
  if (size < noise) return '0'
  if (size >= 1e15) return value.toExponential(2).replace('e+', 'e')
  if (size < 1e-4) return value.toExponential(Math.min(2, digits - 1)).replace(/\.?0+e/, 'e')
  const rounded = size >= 1000 ? Math.round(value) : Number(value.toPrecision(digits))
  return Math.abs(rounded) >= 1000 ? rounded.toLocaleString('en') : String(rounded)
}

/**
 * A number for little room, such as an axis: `0.25`, `-1500`, `12k`, `2.5M`.
 *
 * @example
 * shortText(12_345, 3) // 12.3k
 */
export function shortText(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return String(value)
  const size = Math.abs(value)
  if (size < noise) return '0'
  const round = (scaled: number): string => String(Number(scaled.toPrecision(digits)))
  if (size < 1e-3 || size >= 1e15)
    return value
      .toExponential(Math.min(2, digits - 1))
      .replace(/\.?0+e/, 'e')
      .replace('e+', 'e')
  // Four digits are as short as three and a letter.
  for (const [unit, letter] of [
    [1e12, 'T'],
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const)
    if (size >= unit && size >= 1e4) return `${round(value / unit)}${letter}`
  return size >= 1000 ? String(Math.round(value)) : round(value)
}

/** In float32, sums of numbers near 1 are off by up to this. */
const float32Noise = 1e-6

/**
 * Whether values of a metric are only what rounding left, such as the loss of a policy before its first update, or the difference
 * between two ways to compute the same. Values that are all exactly 0 are not: a reward that is never given has a meaning.
 */
export function isRoundingNoise(values: readonly number[]): boolean {
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  return largest > 0 && largest < float32Noise
}

/** `340 kB`, `3.4 MB`, `538 MB`, `1.2 GB`. */
export function bytesText(bytes: number): string {
  if (!Number.isFinite(bytes)) return String(bytes)
  const size = Math.abs(bytes)
  if (size >= 999.5e6) return `${(bytes / 1e9).toFixed(size < 1e10 ? 1 : 0)} GB`
  if (size >= 1e5 || size === 0) return `${(bytes / 1e6).toFixed(size < 1e7 ? 1 : 0)} MB`
  return size < 1000 ? `${Math.round(bytes)} B` : `${(bytes / 1e3).toFixed(size < 1e4 ? 1 : 0)} kB`
}

/** `8 s`, `3 min`, `2 h 5 min`, `3 d 4 h`: two units at most. */
export function durationText(seconds: number): string {
  const minutes = Math.round(seconds / 60)
  if (seconds < 99.5) return `${Math.max(0, Math.round(seconds))} s`
  if (minutes < 100) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  return hours % 24 === 0 ? `${hours / 24} d` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** Seconds that were measured: `0.35 s`, `12.3 s`; longer ones as durations. */
export function secondsText(seconds: number): string {
  if (!Number.isFinite(seconds)) return String(seconds)
  return seconds < 99.5 ? `${Number(seconds.toPrecision(3))} s` : durationText(seconds)
}
