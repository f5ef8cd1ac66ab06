import { GgufFile } from '../../src/gguf/index.js'
import { type TypedValue, type WrittenTensor, writeGguf } from '../../src/gguf/write-file.js'

/** A tensor of float32. */
export const plainTensor = (
  name: string,
  values: ArrayLike<number>,
  shape: readonly number[] = [values.length],
): WrittenTensor => ({
  name,
  type: 'f32',
  shape,
  async *pieces() {
    yield new Uint8Array(Float32Array.from(values).buffer)
  },
})

export interface Rewrite {
  /** Keys with other values; undefined removes one. */
  readonly fields?: Readonly<Record<string, TypedValue | undefined>>
  readonly without?: readonly string[]
}

/** Copies a GGUF file, with changes and tensors as float32. */
export async function rewriteGguf(from: string, to: string, { fields = {}, without = [] }: Rewrite): Promise<void> {
  await using file = await GgufFile.open(from)
  const metadata = new Map<string, TypedValue>()
  for (const [key, value] of file.metadata) metadata.set(key, typed(key, value as string | number | boolean))
  for (const [key, value] of Object.entries(fields)) value ? metadata.set(key, value) : metadata.delete(key)
  const tensors: WrittenTensor[] = []
  for (const name of file.names.filter(name => !without.includes(name))) {
    const { shape } = file.info(name)!
    const values = new Float32Array(shape.reduce((product, size) => product * size, 1))
    await file.readInto(name, new Uint8Array(values.buffer), { dtype: 'float32' })
    tensors.push(plainTensor(name, values, shape))
  }
  await writeGguf(to, { metadata, tensors })
}

function typed(key: string, value: string | number | boolean | readonly unknown[]): TypedValue {
  if (typeof value === 'string') return { text: value }
  if (typeof value === 'boolean') return { bool: value }
  if (typeof value === 'number') return /freq_base|epsilon/.test(key) ? { f32: value } : { u32: value }
  if (key.endsWith('token_type')) return { i32s: value as number[] }
  return key.endsWith('scores') ? { f32s: value as number[] } : { texts: value as string[] }
}
