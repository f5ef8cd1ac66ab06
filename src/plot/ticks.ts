/** Round numbers for an axis. */

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

/** A number in few characters. */
export function tickLabel(value: number): string {
  const size = Math.abs(value)
  if (size === 0) return '0'
  if (size < 1e-3 || size >= 1e15)
    return value
      .toExponential(2)
      .replace(/\.?0+e/, 'e')
      .replace('e+', 'e')
  for (const [unit, letter] of [
    [1e12, 'T'],
    [1e9, 'G'],
    [1e6, 'M'],
    [1e4, 'k'],
  ] as const)
    if (size >= unit) return `${short(value / (letter === 'k' ? 1e3 : unit))}${letter}`
  return short(value)
}

function short(value: number): string {
  return String(Number(value.toPrecision(5)))
}
