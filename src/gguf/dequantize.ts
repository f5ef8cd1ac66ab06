/**
 * Blocks of each tensor type as float32. Products and sums are rounded to float32 one by one, in the order of the `gguf` package,
 * so that every bit is the same.
 */
import { floatsOfHalves } from './half.js'
import type { TensorType } from './tensor-types.js'

/** Writes the numbers of all blocks in `bytes` to `out`. */
type Dequantize = (bytes: Uint8Array, out: Float32Array) => void

const round = Math.fround

/** Calls `each` with the position of every block. */
function blocks(bytes: Uint8Array, size: number, each: (at: number, index: number) => void): void {
  for (let at = 0, index = 0; at < bytes.length; at += size, index++) each(at, index)
}

const u16 = (bytes: Uint8Array, at: number): number => bytes[at]! | (bytes[at + 1]! << 8)

function f32(bytes: Uint8Array, out: Float32Array): void {
  new Uint8Array(out.buffer, out.byteOffset, out.byteLength).set(bytes)
}

function f16(bytes: Uint8Array, out: Float32Array): void {
  const half = floatsOfHalves()
  for (let i = 0; i < out.length; i++) out[i] = half[u16(bytes, 2 * i)]!
}

function bf16(bytes: Uint8Array, out: Float32Array): void {
  const words = new Uint32Array(out.buffer, out.byteOffset, out.length)
  for (let i = 0; i < words.length; i++) words[i] = u16(bytes, 2 * i) << 16
}

function q8_0(bytes: Uint8Array, out: Float32Array): void {
  const half = floatsOfHalves()
  blocks(bytes, 34, (at, index) => {
    const d = half[u16(bytes, at)]!
    for (let i = 0; i < 32; i++) out[index * 32 + i] = ((bytes[at + 2 + i]! << 24) >> 24) * d
  })
}

function q4_0(bytes: Uint8Array, out: Float32Array): void {
  const half = floatsOfHalves()
  blocks(bytes, 18, (at, index) => {
    const d = half[u16(bytes, at)]!
    for (let i = 0; i < 16; i++) {
      const pair = bytes[at + 2 + i]!
      out[index * 32 + i] = d * ((pair & 15) - 8)
      out[index * 32 + 16 + i] = d * ((pair >> 4) - 8)
    }
  })
}

function q4_1(bytes: Uint8Array, out: Float32Array): void {
  const half = floatsOfHalves()
  blocks(bytes, 20, (at, index) => {
    const d = half[u16(bytes, at)]!
    const m = half[u16(bytes, at + 2)]!
    for (let i = 0; i < 16; i++) {
      const pair = bytes[at + 4 + i]!
      out[index * 32 + i] = round(d * (pair & 15)) + m
      out[index * 32 + 16 + i] = round(d * (pair >> 4)) + m
    }
  })
}

function q5_0(bytes: Uint8Array, out: Float32Array): void {
  const half = floatsOfHalves()
  blocks(bytes, 22, (at, index) => {
    const d = half[u16(bytes, at)]!
    for (let i = 0; i < 16; i++) {
      const pair = bytes[at + 6 + i]!
      out[index * 32 + i] = d * (((pair & 15) | fifthBit(bytes, at + 2, i)) - 16)
      out[index * 32 + 16 + i] = d * (((pair >> 4) | fifthBit(bytes, at + 2, i + 16)) - 16)
    }
  })
}

function q5_1(bytes: Uint8Array, out: Float32Array): void {
  const half = floatsOfHalves()
  blocks(bytes, 24, (at, index) => {
    const d = half[u16(bytes, at)]!
    const m = half[u16(bytes, at + 2)]!
    for (let i = 0; i < 16; i++) {
      const pair = bytes[at + 8 + i]!
      out[index * 32 + i] = round(d * ((pair & 15) | fifthBit(bytes, at + 4, i))) + m
      out[index * 32 + 16 + i] = round(d * ((pair >> 4) | fifthBit(bytes, at + 4, i + 16))) + m
    }
  })
}

/** Bit `i` of the four bytes at `at`, as the fifth bit of a number. */
const fifthBit = (bytes: Uint8Array, at: number, i: number): number => ((bytes[at + (i >> 3)]! >> (i & 7)) & 1) << 4

/** Scale and minimum of the eight groups of a block, six bits each, packed into the twelve bytes at `at`. */
function groupScale(bytes: Uint8Array, at: number, group: number): [scale: number, minimum: number] {
  if (group < 4) return [bytes[at + group]! & 63, bytes[at + 4 + group]! & 63]
  const low = bytes[at + 4 + group]!
  return [(low & 15) | ((bytes[at + group - 4]! >> 2) & 48), (low >> 4) | ((bytes[at + group]! >> 2) & 48)]
}

function q4_k(bytes: Uint8Array, out: Float32Array): void {
  const half = floatsOfHalves()
  blocks(bytes, 144, (at, index) => {
    const d = half[u16(bytes, at)]!
    const dmin = half[u16(bytes, at + 2)]!
    for (let group = 0; group < 8; group++) {
      const [scale, minimum] = groupScale(bytes, at + 4, group)
      const [dl, ml] = [round(d * scale), round(dmin * minimum)]
      const from = at + 16 + (group >> 1) * 32
      const shift = (group & 1) * 4
      for (let i = 0; i < 32; i++)
        out[index * 256 + group * 32 + i] = round(dl * ((bytes[from + i]! >> shift) & 15)) - ml
    }
  })
}

function q5_k(bytes: Uint8Array, out: Float32Array): void {
  const half = floatsOfHalves()
  blocks(bytes, 176, (at, index) => {
    const d = half[u16(bytes, at)]!
    const dmin = half[u16(bytes, at + 2)]!
    for (let group = 0; group < 8; group++) {
      const [scale, minimum] = groupScale(bytes, at + 4, group)
      const [dl, ml] = [round(d * scale), round(dmin * minimum)]
      const from = at + 48 + (group >> 1) * 32
      const shift = (group & 1) * 4
      for (let i = 0; i < 32; i++) {
        const q = ((bytes[from + i]! >> shift) & 15) | (((bytes[at + 16 + i]! >> group) & 1) << 4)
        out[index * 256 + group * 32 + i] = round(dl * q) - ml
      }
    }
  })
}

function q6_k(bytes: Uint8Array, out: Float32Array): void {
  const half = floatsOfHalves()
  blocks(bytes, 210, (at, index) => {
    const d = half[u16(bytes, at + 208)]!
    // Two halves of 128 numbers; each has four groups of 32, which share bytes.
    for (let group = 0; group < 8; group++) {
      const [side, part] = [group >> 2, group & 3]
      const low = at + side * 64 + (part & 1) * 32
      const high = at + 128 + side * 32
      const shift = (part >> 1) * 4
      for (let i = 0; i < 32; i++) {
        const q = (((bytes[low + i]! >> shift) & 15) | (((bytes[high + i]! >> (part * 2)) & 3) << 4)) - 32
        const scale = (bytes[at + 192 + group * 2 + (i >> 4)]! << 24) >> 24
        out[index * 256 + group * 32 + i] = round(d * scale) * q
      }
    }
  })
}

export const dequantize: Readonly<Record<TensorType, Dequantize>> = {
  ...{ f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k },
}
