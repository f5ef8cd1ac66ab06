/** float32 as blocks of the types that `export` writes, bit for bit as the `gguf` package quantises them. */
import { bfloatBits, halfBits } from './half.js'

/** Writes the blocks of all numbers in `values` to `out`. */
type Quantize = (values: Float32Array, out: Uint8Array) => void

const round = Math.fround

function put16(out: Uint8Array, at: number, bits: number): void {
  out[at] = bits & 255
  out[at + 1] = bits >> 8
}

function f32(values: Float32Array, out: Uint8Array): void {
  out.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
}

function f16(values: Float32Array, out: Uint8Array): void {
  for (let i = 0; i < values.length; i++) put16(out, 2 * i, halfBits(values[i]!))
}

function bf16(values: Float32Array, out: Uint8Array): void {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length)
  for (let i = 0; i < words.length; i++) put16(out, 2 * i, bfloatBits(words[i]!))
}

/** Half away from zero. */
function roundAway(value: number): number {
  const whole = Math.floor(Math.abs(value))
  const rounded = whole + Math.floor(2 * round(Math.abs(value) - whole))
  return value < 0 ? -rounded : rounded
}

function q8_0(values: Float32Array, out: Uint8Array): void {
  for (let from = 0, at = 0; from < values.length; from += 32, at += 34) {
    let largest = 0
    for (let i = 0; i < 32; i++) largest = Math.max(largest, Math.abs(values[from + i]!))
    const d = round(largest / 127)
    const inverse = d === 0 ? 0 : round(1 / d)
    put16(out, at, halfBits(d))
    for (let i = 0; i < 32; i++) out[at + 2 + i] = roundAway(round(values[from + i]! * inverse))
  }
}

function q4_0(values: Float32Array, out: Uint8Array): void {
  for (let from = 0, at = 0; from < values.length; from += 32, at += 18) {
    let extreme = values[from]!
    for (let i = 1; i < 32; i++) if (Math.abs(values[from + i]!) > Math.abs(extreme)) extreme = values[from + i]!
    const d = round(extreme / -8)
    const inverse = d === 0 ? 0 : round(1 / d)
    const level = (i: number): number => Math.min(15, Math.trunc(round(round(values[from + i]! * inverse) + 8.5)) & 255)
    put16(out, at, halfBits(d))
    for (let i = 0; i < 16; i++) out[at + 2 + i] = level(i) | (level(i + 16) << 4)
  }
}

/** The types of `export --to gguf`. */
export const quantize = { f32, f16, bf16, q8_0, q4_0 } as const satisfies Record<string, Quantize>
export type WrittenType = keyof typeof quantize
