/**
 * Llama 3's rope scaling. A config has four numbers; a GGUF file has what they amount to: one factor for every frequency
 * (`rope_freqs.weight`).
 */
import type { DecoderConfig } from '../decoder/index.js'

type Scaling = NonNullable<DecoderConfig['ropeScaling']>
type Rope = Pick<DecoderConfig, 'headDim' | 'ropeTheta'>

function wavelengths({ headDim, ropeTheta }: Rope): number[] {
  return Array.from({ length: headDim / 2 }, (_, i) => 2 * Math.PI * ropeTheta ** ((2 * i) / headDim))
}

/** By how much each frequency is divided. */
export function ropeFactors(
  rope: Rope,
  { factor, lowFreqFactor, highFreqFactor, originalContext }: Scaling,
): Float32Array {
  return Float32Array.from(wavelengths(rope), wavelength => {
    if (wavelength < originalContext / highFreqFactor) return 1
    if (wavelength > originalContext / lowFreqFactor) return factor
    const smooth = (originalContext / wavelength - lowFreqFactor) / (highFreqFactor - lowFreqFactor)
    return 1 / ((1 - smooth) / factor + smooth)
  })
}

/** What llama.cpp's converter and ours compute differs in the last digits of float32 alone. */
const tolerance = 1e-4

/**
 * The scaling that has these factors; undefined where there is none. Several have: of three of the numbers only two ratios matter. Those
 * of the released Llama 3 models are taken where they fit.
 */
export function scalingOf(rope: Rope, factors: ArrayLike<number>): Scaling | undefined {
  const fits = (scaling: Scaling): boolean =>
    ropeFactors(rope, scaling).every((factor, i) => Math.abs(factor - factors[i]!) <= tolerance * factor)
  const factor = Array.from(factors).reduce((most, value) => Math.max(most, value), 1)
  const released = { factor: shortest(factor), lowFreqFactor: 1, highFreqFactor: 4, originalContext: 8192 }
  const fitted = fittedScaling(rope, factors, shortest(factor))
  return [released, ...(fitted ? [fitted] : [])].find(fits)
}

/** Blended frequencies lie on a line over one by wavelength; two of them give it. */
function fittedScaling(rope: Rope, factors: ArrayLike<number>, factor: number): Scaling | undefined {
  const points = wavelengths(rope).flatMap((wavelength, i) => {
    const scale = factors[i]!
    const smooth = (1 / scale - 1 / factor) / (1 - 1 / factor)
    return smooth > tolerance && smooth < 1 - tolerance ? [{ x: 1 / wavelength, smooth }] : []
  })
  if (points.length === 0) return edgeScaling(rope, factors, factor)
  const [first, last] = [points[0]!, points.at(-1)!]
  // One point alone: the ratio of the released models.
  const lineWith = (ratio: number): [number, number] => {
    const low = first.x / (1 + first.smooth * (ratio - 1))
    return [low, low * ratio]
  }
  const [low, high] = points.length > 1 && first.x !== last.x ? lineThrough(first, last) : lineWith(4)
  if (!(low > 0 && high > low)) return undefined
  return { factor, lowFreqFactor: 1, highFreqFactor: tidy(high / low), originalContext: tidy(1 / low) }
}

function lineThrough(a: { x: number; smooth: number }, b: { x: number; smooth: number }): [low: number, high: number] {
  const slope = (a.smooth - b.smooth) / (a.x - b.x)
  const low = a.x - a.smooth / slope
  return [low, low + 1 / slope]
}

/** No frequency is blended: any border between the two sides does. */
function edgeScaling(rope: Rope, factors: ArrayLike<number>, factor: number): Scaling | undefined {
  const all = wavelengths(rope)
  const first = all.findIndex((_, i) => Math.abs(factors[i]! - factor) <= tolerance * factor)
  if (first < 0) return undefined
  const longestKept = all[first - 1] ?? all[first]! / 4
  const middle = Math.sqrt(longestKept * all[first]!)
  const ratio = Math.min(4, Math.sqrt(all[first]! / longestKept))
  const originalContext = middle * Math.sqrt(ratio)
  return { factor, lowFreqFactor: 1, highFreqFactor: ratio, originalContext }
}

/** A whole number, where the value is one but for rounding. */
function tidy(value: number): number {
  const whole = Math.round(value)
  return Math.abs(value - whole) <= 1e-3 * value ? whole : value
}

/** The shortest decimal number with the same float32. */
export function shortest(value: number): number {
  for (let digits = 1; digits < 17; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === Math.fround(value)) return short
  }
  return value
}
