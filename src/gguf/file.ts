/**
 * One GGUF model: a file, or the parts `NAME-00001-of-0000N.gguf` of one. Opening reads and checks the heads alone; a tensor's bytes
 * are read when it is asked for, in pieces, and the event loop turns between two pieces.
 */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { systemProblem } from '../errors/index.js'
import type { DType } from '../tensor/index.js'
import { Cursor } from './cursor.js'
import { dequantize } from './dequantize.js'
import { GgufError } from './errors.js'
import { type Header, type Metadata, quoted, readHeader, type TensorInfo } from './header.js'
import { quantize } from './quantize.js'
import { bytesOf } from './tensor-types.js'

/** Numbers of a piece: about a millisecond of work. A multiple of every block. */
const pieceNumbers = 1 << 17

/** What tensors are read as. */
export const readDtypes = { float32: 'f32', float16: 'f16', bfloat16: 'bf16' } as const
export type ReadDtype = keyof typeof readDtypes & DType

interface Part extends Header {
  readonly path: string
  readonly handle: FileHandle
}

export class GgufFile implements AsyncDisposable {
  readonly path: string
  readonly #parts: readonly Part[]
  readonly #partOf: ReadonlyMap<string, Part>

  private constructor(path: string, parts: readonly Part[]) {
    this.path = path
    this.#parts = parts
    this.#partOf = new Map(parts.flatMap(part => [...part.tensors.keys()].map(name => [name, part] as const)))
  }

  /** Opens a model. Of a model in parts, any part may be named. */
  static async open(path: string): Promise<GgufFile> {
    const paths = partPaths(path)
    const parts: Part[] = []
    try {
      for (const part of paths) parts.push(await openPart(part, paths.length))
      checkParts(parts)
      return new GgufFile(path, parts)
    } catch (error) {
      for (const { handle } of parts) await handle.close()
      throw error
    }
  }

  /** Of the first part, which has the model's. */
  get metadata(): Metadata {
    return this.#parts[0]!.metadata
  }

  get names(): readonly string[] {
    return [...this.#partOf.keys()]
  }

  /** All files of the model. */
  get paths(): readonly string[] {
    return this.#parts.map(({ path }) => path)
  }

  info(name: string): TensorInfo | undefined {
    return this.#partOf.get(name)?.tensors.get(name)
  }

  /** Writes a tensor's numbers into memory of the caller, which holds exactly as many of `dtype`. */
  async readInto(
    name: string,
    target: Uint8Array,
    { dtype, signal }: { dtype: ReadDtype; signal?: AbortSignal },
  ): Promise<void> {
    const part = this.#partOf.get(name)
    const info = part?.tensors.get(name)
    if (!part || !info) throw new GgufError(`${this.path} has no tensor ${quoted(name)}`)
    const count = info.shape.reduce((product, size) => product * size, 1)
    const wanted = readDtypes[dtype]
    if (target.length !== bytesOf(wanted, count))
      throw new RangeError(`${name}: ${count} numbers of ${dtype} need another place than ${target.length} bytes`)
    for (let done = 0; done < count; done += pieceNumbers) {
      signal?.throwIfAborted()
      const numbers = Math.min(pieceNumbers, count - done)
      const to = target.subarray(bytesOf(wanted, done), bytesOf(wanted, done + numbers))
      const at = info.position + bytesOf(info.type, done)
      if (info.type === wanted) {
        await readBytes(part, to, at)
        continue
      }
      const bytes = await readBytes(part, new Uint8Array(bytesOf(info.type, numbers)), at)
      const floats = new Float32Array(numbers)
      dequantize[info.type](bytes, floats)
      quantize[wanted](floats, to)
      await nextTurn()
    }
  }

  async close(): Promise<void> {
    for (const { handle } of this.#parts) await handle.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Whether a path names a GGUF file. */
export const isGgufPath = (path: string): boolean => /\.gguf$/i.test(path)

const partName = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/

/** All files of the model that `path` is a part of, in order. */
export function partPaths(path: string): string[] {
  const [, stem, , of] = partName.exec(basename(path)) ?? []
  if (stem === undefined || of === undefined) return [path]
  return Array.from({ length: Number(of) }, (_, i) =>
    join(dirname(path), `${stem}-${String(i + 1).padStart(5, '0')}-of-${of}.gguf`),
  )
}

async function openPart(path: string, count: number): Promise<Part> {
  const handle = await openRegularFile(path, count)
  try {
    const { size } = await handle.stat()
    return { path, handle, ...(await readHeader(new Cursor(path, handle, size))) }
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function openRegularFile(path: string, count: number): Promise<FileHandle> {
  try {
    // Before opening: opening a named pipe would wait for a writer for ever.
    if (!(await stat(path)).isFile()) throw new Error('it is not a regular file')
    return await open(path, 'r')
  } catch (cause) {
    const remedy = count > 1 ? `; the model has ${count} parts, and all of them are needed` : ''
    throw new GgufError(`${path} cannot be opened: ${systemProblem(cause, 'read')}${remedy}`, { cause })
  }
}

function checkParts(parts: readonly Part[]): void {
  const names = new Set<string>()
  for (const [i, { path, metadata, tensors }] of parts.entries()) {
    const count = metadata.get('split.count') ?? 1
    const index = metadata.get('split.no') ?? 0
    if (count !== Math.max(1, parts.length) && !(count === 0 && parts.length === 1))
      throw new GgufError(
        `${path} is one of ${String(count)} parts of a model, and its name says ${parts.length}; give the parts their names NAME-00001-of-0000N.gguf`,
      )
    if (index !== i)
      throw new GgufError(`${path} is part ${Number(index) + 1} of the model, and its name says ${i + 1}`)
    for (const name of tensors.keys()) {
      if (names.has(name)) throw new GgufError(`${path}: tensor ${quoted(name)} is in another part too`)
      names.add(name)
    }
  }
  const total = parts[0]!.metadata.get('split.tensors.count')
  if (total !== undefined && total !== 0 && total !== names.size)
    throw new GgufError(`${parts[0]!.path}: the parts hold ${names.size} tensors, and the model has ${String(total)}`)
}

async function readBytes(
  { path, handle }: Pick<Part, 'path' | 'handle'>,
  target: Uint8Array,
  position: number,
): Promise<Uint8Array> {
  let done = 0
  while (done < target.length) {
    const { bytesRead } = await handle.read(target, done, target.length - done, position + done).catch(cause => {
      throw new GgufError(`${path} cannot be read: ${systemProblem(cause, 'read')}`, { cause })
    })
    if (bytesRead === 0) throw new GgufError(`${path} ended early: it was changed while it was read`)
    done += bytesRead
  }
  return target
}
