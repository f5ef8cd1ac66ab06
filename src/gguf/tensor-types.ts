/** The tensor types of GGUF: how many numbers a block holds, and how many bytes it takes. */

interface TensorTypeSpec {
  /** The number in the file. */
  readonly id: number
  /** Numbers of a block. */
  readonly block: number
  /** Bytes of a block. */
  readonly bytes: number
}

/** The types that are read. `export` writes some of them. */
export const tensorTypes = {
  f32: { id: 0, block: 1, bytes: 4 },
  f16: { id: 1, block: 1, bytes: 2 },
  bf16: { id: 30, block: 1, bytes: 2 },
  q8_0: { id: 8, block: 32, bytes: 34 },
  q4_0: { id: 2, block: 32, bytes: 18 },
  q4_1: { id: 3, block: 32, bytes: 20 },
  q5_0: { id: 6, block: 32, bytes: 22 },
  q5_1: { id: 7, block: 32, bytes: 24 },
  q4_k: { id: 12, block: 256, bytes: 144 },
  q5_k: { id: 13, block: 256, bytes: 176 },
  q6_k: { id: 14, block: 256, bytes: 210 },
} as const satisfies Record<string, TensorTypeSpec>

export type TensorType = keyof typeof tensorTypes

const byId = new Map<number, TensorType>(Object.entries(tensorTypes).map(([name, { id }]) => [id, name as TensorType]))

export const tensorTypeOf = (id: number): TensorType | undefined => byId.get(id)

/** Types that exist and are not read, for messages. */
const otherTypes: Readonly<Record<number, string>> = {
  9: 'q8_1',
  10: 'q2_k',
  11: 'q3_k',
  15: 'q8_k',
  16: 'iq2_xxs',
  17: 'iq2_xs',
  18: 'iq3_xxs',
  19: 'iq1_s',
  20: 'iq4_nl',
  21: 'iq3_s',
  22: 'iq2_s',
  23: 'iq4_xs',
  24: 'i8',
  25: 'i16',
  26: 'i32',
  27: 'i64',
  28: 'f64',
  29: 'iq1_m',
  34: 'tq1_0',
  35: 'tq2_0',
  39: 'mxfp4',
  40: 'nvfp4',
  41: 'q1_0',
}

export const typeName = (id: number): string => tensorTypeOf(id) ?? otherTypes[id] ?? `number ${id}`

/** Bytes of `count` numbers, which fill whole blocks. */
export function bytesOf(type: TensorType, count: number): number {
  const { block, bytes } = tensorTypes[type]
  return (count / block) * bytes
}
