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

async function widened(bits: Int16Array, dtype: Narrow): Promise<Float32Array> {
  return read(() => ofBits(bits, dtype).toCopy({ dtype: 'float32' }))
}

async function read<A extends Float32Array | Int16Array>(make: () => Tensor): Promise<A> {
  const tensor = scope(make)
  const data = (await tensor.data()) as A
  tensor.dispose()
  return data
}

function ofBits(bits: Int16Array, dtype: Narrow): Tensor {
  return Tensor.from(bits, { dtype: 'int16' }).viewDtype({ dtype })
}

function mastersOf(make: () => Tensor, options = key): Promise<Float32Array> {
  return read(() => {
    const weight = make()
    const master = weight.toCopy({ dtype: 'float32' })
    dither(weight, master, options)
    return master
  })
}

describe.each(['bfloat16', 'float16'] as const)('%s', dtype => {
  test('every master rounds to its weight and lies strictly inside its cell: all exponents, signs, denormals', async () => {
    const bits = everyNumber(dtype, 3)
    const weights = await widened(bits, dtype)
    const masters = await mastersOf(() => ofBits(bits, dtype))
    const back = await read(() => Tensor.from(masters).toCopy({ dtype }).viewDtype({ dtype: 'int16' }))
    expect(back).toEqual(bits)
    // Towards zero and away from it. Beyond the largest number the grid goes on as before it.
    const inner = await widened(
      bits.map(one => one - 1),
      dtype,
    )
    const outer = await widened(
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

  test('zeros stay zero, with their sign', async () => {
    const masters = await mastersOf(() => ofBits(Int16Array.from([0, -0x8000]), dtype))
    expect(Object.is(masters[0], 0) && Object.is(masters[1], -0)).toBe(true)
  })

  test.each([0.05, -0.05, 1, -1, 2 ** -20])('masters of %d are uniform over their cell', async value => {
    const count = 200_000
    const rounded = () => Tensor.from([value]).toCopy({ dtype })
    const [bits] = await read<Int16Array>(() => rounded().viewDtype({ dtype: 'int16' }))
    const near = await widened(Int16Array.from([bits! - 1, bits!, bits! + 1]), dtype)
    const [inner, weight, outer] = [...near] as [number, number, number]
    const [below, above] = [Math.abs(weight - inner) / 2, Math.abs(outer - weight) / 2]
    const masters = await mastersOf(() => rounded().expand([count]).contiguous())
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

test('what is drawn depends on seed, name and index alone', async () => {
  const numbers = Float32Array.from({ length: 5000 }, (_, i) => 0.01 + i / 1000)
  const weight = (): Tensor => Tensor.from(numbers).toCopy({ dtype: 'bfloat16' })
  const whole = await mastersOf(weight)
  expect(await mastersOf(weight)).toEqual(whole)
  expect(await mastersOf(() => weight().narrow(0, 0, 4321).clone())).toEqual(whole.slice(0, 4321))
  expect([...(await mastersOf(() => weight().view([50, 100])))]).toEqual([...whole])
  for (const other of [
    { ...key, seed: 8 },
    { ...key, name: 'v' },
  ]) {
    const drawn = await mastersOf(weight, other)
    expect(drawn.filter((one, i) => one === whole[i]).length).toBeLessThan(10)
  }
})
