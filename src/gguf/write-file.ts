/** Writes a GGUF file, tensor by tensor. It appears when it is whole. */
import type { FileHandle } from 'node:fs/promises'
import { writeFileAtomic } from '../files/index.js'
import { bytesOf, type TensorType, tensorTypes } from './tensor-types.js'

/** A value with the type it has in the file. */
export type TypedValue =
  | { readonly u32: number }
  | { readonly f32: number }
  | { readonly bool: boolean }
  | { readonly text: string }
  | { readonly texts: readonly string[] }
  | { readonly i32s: readonly number[] }
  | { readonly f32s: readonly number[] }

export interface WrittenTensor {
  readonly name: string
  readonly type: TensorType
  /** As PyTorch has it: rows first. */
  readonly shape: readonly number[]
  /** Its bytes, in pieces. */
  readonly pieces: () => AsyncIterable<Uint8Array>
}

export interface WriteGgufOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: { bytesDone: number; bytesTotal: number }) => void) | undefined
}

const version = 3
const alignment = 32

const aligned = (bytes: number): number => Math.ceil(bytes / alignment) * alignment

/** Returns the size of the file. */
export async function writeGguf(
  path: string,
  { metadata, tensors }: { metadata: ReadonlyMap<string, TypedValue>; tensors: readonly WrittenTensor[] },
  { signal, onProgress }: WriteGgufOptions = {},
): Promise<number> {
  const head = headOf(metadata, tensors)
  const bytesTotal = tensors.reduce((sum, tensor) => sum + aligned(sizeOf(tensor)), head.length)
  await writeFileAtomic(path, async file => {
    let bytesDone = await append(file, head)
    for (const tensor of tensors) {
      let written = 0
      for await (const piece of tensor.pieces()) {
        signal?.throwIfAborted()
        written += await append(file, piece)
        onProgress?.({ bytesDone: bytesDone + written, bytesTotal })
      }
      if (written !== sizeOf(tensor)) throw new Error(`${tensor.name}: ${written} bytes instead of ${sizeOf(tensor)}`)
      bytesDone += written + (await append(file, new Uint8Array(aligned(written) - written)))
    }
  })
  return bytesTotal
}

const sizeOf = ({ type, shape }: WrittenTensor): number =>
  bytesOf(
    type,
    shape.reduce((product, size) => product * size, 1),
  )

async function append(file: FileHandle, bytes: Uint8Array): Promise<number> {
  for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done, bytes.length - done)).bytesWritten
  return bytes.length
}

function headOf(metadata: ReadonlyMap<string, TypedValue>, tensors: readonly WrittenTensor[]): Buffer {
  const parts: Buffer[] = [Buffer.from('GGUF'), u32(version), u64(tensors.length), u64(metadata.size)]
  for (const [key, value] of metadata) parts.push(text(key), ...encoded(value))
  let offset = 0
  for (const tensor of tensors) {
    const { name, type, shape } = tensor
    parts.push(text(name), u32(shape.length), ...shape.toReversed().map(u64), u32(tensorTypes[type].id), u64(offset))
    offset += aligned(sizeOf(tensor))
  }
  const head = Buffer.concat(parts)
  return Buffer.concat([head, Buffer.alloc(aligned(head.length) - head.length)])
}

function encoded(value: TypedValue): Buffer[] {
  if ('u32' in value) return [u32(4), u32(value.u32)]
  if ('f32' in value) return [u32(6), f32(value.f32)]
  if ('bool' in value) return [u32(7), Buffer.from([value.bool ? 1 : 0])]
  if ('text' in value) return [u32(8), text(value.text)]
  if ('texts' in value) return [...list(8, value.texts.length), ...value.texts.map(text)]
  if ('i32s' in value) return [...list(5, value.i32s.length), Buffer.from(Int32Array.from(value.i32s).buffer)]
  return [...list(6, value.f32s.length), Buffer.from(Float32Array.from(value.f32s).buffer)]
}

const list = (type: number, count: number): Buffer[] => [u32(9), u32(type), u64(count)]

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function f32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([u64(bytes.length), bytes])
}
