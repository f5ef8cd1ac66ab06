/** 16-bit floats to float32 and back, bit for bit as numpy and ggml convert them. */

const word = new DataView(new ArrayBuffer(4))

function bitsOf(value: number): number {
  word.setFloat32(0, value)
  return word.getUint32(0)
}

function fromBits(bits: number): number {
  word.setUint32(0, bits)
  return word.getFloat32(0)
}

function halfToFloat(half: number): number {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >>> 10) & 0x1f
  const mantissa = half & 0x3ff
  if (exponent === 0) return sign * mantissa * 2 ** -24
  // Bits of a NaN are kept, as by numpy.
  if (exponent === 31) return fromBits(((half & 0x8000) << 16) | 0x7f800000 | (mantissa << 13))
  return sign * (1 + mantissa / 1024) * 2 ** (exponent - 15)
}

let table: Float32Array | undefined

/** float32 by the bits of a float16. */
export function floatsOfHalves(): Float32Array {
  table ??= Float32Array.from({ length: 65_536 }, (_, half) => halfToFloat(half))
  return table
}

/** The bits of the float16 nearest to a float32, ties to even; too large becomes infinite. */
export function halfBits(value: number): number {
  const bits = bitsOf(value)
  const sign = (bits >>> 16) & 0x8000
  const rest = bits & 0x7fffffff
  // Not a number stays that, even where its upper bits are zero.
  if (rest > 0x7f800000) return sign | 0x7c00 | ((rest >>> 13) & 0x3ff || 1)
  if (rest >= 0x47800000) return sign | 0x7c00
  if (rest < 0x38800000) {
    // A subnormal: the number in units of 2^-24, of which a double holds every digit.
    return sign | roundEven(Math.abs(value) * 2 ** 24)
  }
  const rounded = rest - 0x38000000 + 0xfff + ((rest >>> 13) & 1)
  return sign | (rounded >>> 13)
}

function roundEven(value: number): number {
  const floor = Math.floor(value)
  const over = value - floor
  return over > 0.5 || (over === 0.5 && floor % 2 === 1) ? floor + 1 : floor
}

/** The bits of the bfloat16 nearest to the float32 with these bits, ties to even. */
export function bfloatBits(bits: number): number {
  if ((bits & 0x7fffffff) > 0x7f800000) return ((bits >>> 16) | 64) & 0xffff
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff
}
