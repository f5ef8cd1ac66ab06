/** Masters inside the rounding cells of their weights: held against cells computed here from the bits of the neighbours. */
import { describe, expect, test } from 'vitest'
import { dither, scope, Tensor } from '../../src/tensor/index.js'

type Narrow = 'bfloat16' | 'float16'
const key = { seed: 7, name: 'w' }

/** Every finite number of a type but the zeros, `copies` times. */
function everyNumber(dtype: Narrow, copies = 1): Int16Array {
  const infinity = dtype === 'bfloat16' ? 0x7f80 : 0x7c00
  const bits: number[] = []
  for (let magnitude = 1; magnitude < infinity; magnitude++)
    for (let copy = 0; copy < copies; copy++) bits.push(magnitude, magnitude | 0x8000)
  return Int16Array.from(bits)
}

function widened(bits: Int16Array, dtype: Narrow): Float32Array {
  return scope(() => ofBits(bits, dtype).toCopy({ dtype: 'float32' }).dataSync<'float32'>()) as Float32Array
}

function ofBits(bits: Int16Array, dtype: Narrow): Tensor {
  return Tensor.from(bits, { dtype: 'int16' }).viewDtype({ dtype })
}

function mastersOf(weight: Tensor, options = key): Float32Array {
  return scope(() => {
    const master = weight.toCopy({ dtype: 'float32' })
    dither(weight, master, options)
    return master.dataSync<'float32'>() as Float32Array
  })
}

describe.each(['bfloat16', 'float16'] as const)('%s', dtype => {
  test('every master rounds to its weight and lies strictly inside its cell: all exponents, signs, denormals', () => {
    const bits = everyNumber(dtype, 3)
    const weights = widened(bits, dtype)
    const masters = scope(() => mastersOf(ofBits(bits, dtype)))
    const back = scope(() =>
      Tensor.from(masters).toCopy({ dtype }).viewDtype({ dtype: 'int16' }).dataSync<'int16'>(),
    ) as Int16Array
    expect(back).toEqual(bits)
    // Towards zero and away from it. Beyond the largest number the grid goes on as before it.
    const inner = widened(
      bits.map(one => one - 1),
      dtype,
    )
    const outer = widened(
      bits.map(one => one + 1),
      dtype,
    )
    let [outside, moved] = [0, 0]
    for (const [i, weight] of weights.entries()) {
      const away = Number.isFinite(outer[i]!) ? outer[i]! : 2 * weight - inner[i]!
      const [low, high] = [(weight + inner[i]!) / 2, (weight + away) / 2].sort((a, b) => a - b)
      if (!(masters[i]! > low! && masters[i]! < high!)) outside++
      if (masters[i] !== weight) moved++
    }
    expect(outside).toBe(0)
    expect(moved / bits.length).toBeGreaterThan(0.99)
  })

  test('zeros stay zero, with their sign', () => {
    const masters = scope(() => mastersOf(ofBits(Int16Array.from([0, -0x8000]), dtype)))
    expect(Object.is(masters[0], 0) && Object.is(masters[1], -0)).toBe(true)
  })

  test.each([0.05, -0.05, 1, -1, 2 ** -20])('masters of %d are uniform over their cell', value => {
    const count = 200_000
    const { weight, below, above, masters } = scope(() => {
      const weights = Tensor.from([value]).toCopy({ dtype })
      const bits = weights.viewDtype({ dtype: 'int16' }).dataSync<'int16'>()[0] as number
      const near = widened(Int16Array.from([bits - 1, bits, bits + 1]), dtype)
      const [inner, weight, outer] = [...near] as [number, number, number]
      const masters = mastersOf(weights.expand([count]).contiguous())
      return { weight, below: Math.abs(weight - inner) / 2, above: Math.abs(outer - weight) / 2, masters }
    })
    // Distance from zero, measured from the weight.
    const offsets = [...masters].map(master => (master - weight) * Math.sign(value))
    const width = below + above
    const mean = offsets.reduce((sum, one) => sum + one, 0) / count
    const variance = offsets.reduce((sum, one) => sum + (one - mean) ** 2, 0) / count
    // Five standard errors.
    expect(Math.abs(mean - (above - below) / 2)).toBeLessThan((5 * width) / Math.sqrt(12 * count) + width / 2 ** 12)
    expect(Math.sqrt(variance) / (width / Math.sqrt(12))).toBeCloseTo(1, 2)
    const tenths = new Array<number>(10).fill(0)
    for (const one of offsets) tenths[Math.min(9, Math.floor(((one + below) / width) * 10))]!++
    for (const tenth of tenths) expect(Math.abs(tenth / count - 0.1)).toBeLessThan(0.005)
  })
})

test('what is drawn depends on seed, name and index alone', () => {
  scope(() => {
    const weight = Tensor.from(Float32Array.from({ length: 5000 }, (_, i) => 0.01 + i / 1000)).toCopy({
      dtype: 'bfloat16',
    })
    const whole = mastersOf(weight)
    expect(mastersOf(weight)).toEqual(whole)
    expect(mastersOf(weight.narrow(0, 0, 4321).clone())).toEqual(whole.slice(0, 4321))
    expect(mastersOf(weight.view([50, 100]))).toEqual(whole)
    for (const other of [
      { ...key, seed: 8 },
      { ...key, name: 'v' },
    ]) {
      const drawn = mastersOf(weight, other)
      expect(drawn.filter((one, i) => one === whole[i]).length).toBeLessThan(10)
    }
  })
})
