import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { dequantize } from '../../src/gguf/dequantize.js'
import { GgufFile } from '../../src/gguf/file.js'
import { bfloatBits, floatsOfHalves, halfBits } from '../../src/gguf/half.js'
import { quantize, type WrittenType } from '../../src/gguf/quantize.js'
import { bytesOf, type TensorType, tensorTypes } from '../../src/gguf/tensor-types.js'

const path = new URL('../fixtures/gguf/blocks.gguf', import.meta.url).pathname

async function floats(file: GgufFile, name: string): Promise<Float32Array> {
  const info = file.info(name)
  const out = new Float32Array(info!.shape.reduce((product, size) => product * size, 1))
  await file.readInto(name, new Uint8Array(out.buffer), { dtype: 'float32' })
  return out
}

const bitsOf = (values: Float32Array): number[] => [...new Uint32Array(values.buffer)]

describe('blocks against the gguf package', () => {
  test.each(Object.keys(tensorTypes) as TensorType[])('%s is read to the same bits', async type => {
    await using file = await GgufFile.open(path)
    expect(file.info(type)?.type).toBe(type)
    const expected = await floats(file, `${type}.expected`)
    expect(expected.length).toBeGreaterThan(100)
    expect(bitsOf(await floats(file, type))).toEqual(bitsOf(expected))
  })

  test.each(['f16', 'bf16', 'q8_0', 'q4_0'] as const)('%s is written to the same bits', async type => {
    await using file = await GgufFile.open(path)
    const source = await floats(file, 'source')
    const expected = Uint8Array.from(await floats(file, `${type}.quantized`))
    const out = new Uint8Array(expected.length)
    quantize[type](source, out)
    expect([...out]).toEqual([...expected])
  })

  test('what is read as a 16-bit dtype is the rounded float32', async () => {
    await using file = await GgufFile.open(path)
    const exact = await floats(file, 'q6_k')
    const rounded = new Uint8Array(exact.length * 2)
    await file.readInto('q6_k', rounded, { dtype: 'bfloat16' })
    const expected = new Uint8Array(exact.length * 2)
    quantize.bf16(exact, expected)
    expect(rounded).toEqual(expected)
  })
})

describe('16-bit floats', () => {
  test('every float16 survives the way to float32 and back', () => {
    const all = floatsOfHalves()
    const changed = [...all].filter((value, half) => !Number.isNaN(value) && halfBits(value) !== half)
    expect(changed).toEqual([])
  })

  test('ties go to even, what is too large becomes infinite, and NaN stays NaN', () => {
    expect(halfBits(1 + 2 ** -11)).toBe(0x3c00)
    expect(halfBits(1 + 3 * 2 ** -11)).toBe(0x3c02)
    expect(halfBits(65_519.99)).toBe(0x7bff)
    expect(halfBits(65_520)).toBe(0x7c00)
    expect(halfBits(-1e9)).toBe(0xfc00)
    expect(halfBits(2 ** -25)).toBe(0)
    expect(halfBits(1.5 * 2 ** -25)).toBe(1)
    expect(halfBits(Number.NaN) & 0x7fff).toBeGreaterThan(0x7c00)
    expect(bfloatBits(0x3f808000)).toBe(0x3f80)
    expect(bfloatBits(0x3f818000)).toBe(0x3f82)
    expect(bfloatBits(0x7f800001)).toBe(0x7fc0)
  })
})

test('quantised numbers are read back as the nearest step', () => {
  const values = Float32Array.from({ length: 64 }, (_, i) => Math.sin(i * 1.7) * (i + 1))
  for (const [type, share] of [
    ['q8_0', 1 / 127],
    ['q4_0', 1 / 8],
  ] as [WrittenType, number][]) {
    const bytes = new Uint8Array(bytesOf(type, values.length))
    quantize[type](values, bytes)
    const back = new Float32Array(values.length)
    dequantize[type](bytes, back)
    for (const [i, value] of values.entries()) {
      const block = values.subarray(i - (i % 32), i - (i % 32) + 32)
      expect(Math.abs(back[i]! - value)).toBeLessThanOrEqual(share * Math.max(...block.map(Math.abs)) * 1.01)
    }
  }
})

test('the fixture is small', async () => {
  expect((await readFile(path)).length).toBeLessThan(50_000)
})
