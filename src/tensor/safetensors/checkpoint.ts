import { readFile, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { systemProblem } from '../../errors/index.js'
import type { Tensor } from '../tensor.js'
import { quote, SafetensorsError } from './error.js'
import { type ReadOptions, SafetensorsFile } from './file.js'
import { isObject, type Metadata, maxHeaderBytes, type TensorInfo } from './header.js'
import { parseStrictJson } from './strict-json.js'

export const singleName = 'model.safetensors'
export const indexName = 'model.safetensors.index.json'

/**
 * A model's weights as Hugging Face lays them out: `model.safetensors`, or `model.safetensors.index.json` beside the shards it
 * names. Opening checks every shard's header; tensors are read when asked for.
 *
 * With both present `model.safetensors` is the checkpoint, as in transformers. Tensors in a shard that the index does not name
 * are not part of the checkpoint.
 *
 * @example
 * const checkpoint = await Checkpoint.open('models/qwen')
 * for (const name of checkpoint.names) parameters.set(name, await checkpoint.read(name))
 * await checkpoint.close()
 */
export class Checkpoint implements AsyncDisposable {
  readonly #fileOf: ReadonlyMap<string, SafetensorsFile>
  readonly #files: readonly SafetensorsFile[]
  readonly #path: string

  private constructor(path: string, fileOf: ReadonlyMap<string, SafetensorsFile>, files: readonly SafetensorsFile[]) {
    this.#path = path
    this.#fileOf = fileOf
    this.#files = files
  }

  /** Opens a directory, a single `.safetensors` file, or an index file (`.json`). */
  static async open(path: string): Promise<Checkpoint> {
    const main = await findMainFile(path)
    if (main.endsWith('.json')) return Checkpoint.#openIndex(main)
    const file = await SafetensorsFile.open(main)
    return new Checkpoint(main, new Map(file.names.map(name => [name, file])), [file])
  }

  static async #openIndex(path: string): Promise<Checkpoint> {
    const weightMap = await readWeightMap(path)
    const shards = new Map<string, SafetensorsFile>()
    const fileOf = new Map<string, SafetensorsFile>()
    try {
      for (const [tensor, shardName] of weightMap) {
        let shard = shards.get(shardName)
        if (shard === undefined) {
          shard = await SafetensorsFile.open(join(dirname(path), shardName))
          shards.set(shardName, shard)
        }
        if (!shard.has(tensor))
          throw new SafetensorsError(`is not in ${shardName}, although the index lists it there`, {
            file: path,
            tensor,
          })
        fileOf.set(tensor, shard)
      }
    } catch (error) {
      for (const shard of shards.values()) await shard.close()
      throw error
    }
    return new Checkpoint(path, fileOf, [...shards.values()])
  }

  get names(): readonly string[] {
    return [...this.#fileOf.keys()]
  }

  /** The metadata of the (first) file; writers put the same into every shard. */
  get metadata(): Metadata {
    return this.#files[0]?.metadata ?? Object.create(null)
  }

  has(name: string): boolean {
    return this.#fileOf.has(name)
  }

  info(name: string): TensorInfo {
    return this.#file(name).info(name)
  }

  /** A new CPU tensor with the stored values; the caller disposes it. */
  async read(name: string, options: ReadOptions = {}): Promise<Tensor> {
    return this.#file(name).read(name, options)
  }

  async close(): Promise<void> {
    for (const file of this.#files) await file.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #file(name: string): SafetensorsFile {
    const file = this.#fileOf.get(name)
    if (file === undefined) throw new SafetensorsError(`has no tensor ${quote(name)}`, { file: this.#path })
    return file
  }
}

async function findMainFile(path: string): Promise<string> {
  const kind = await kindOf(path)
  if (kind === 'missing') throw new SafetensorsError('does not exist', { file: path })
  if (kind === 'file') return path
  for (const name of [singleName, indexName]) {
    if ((await kindOf(join(path, name))) !== 'missing') return join(path, name)
  }
  throw new SafetensorsError(`has neither ${singleName} nor ${indexName}`, { file: path })
}

async function kindOf(path: string): Promise<'file' | 'directory' | 'missing'> {
  try {
    return (await stat(path)).isDirectory() ? 'directory' : 'file'
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing'
    throw new SafetensorsError(`cannot be opened: ${systemProblem(cause, 'read')}`, { file: path, cause })
  }
}

async function readWeightMap(file: string): Promise<[string, string][]> {
  let json: unknown
  try {
    const found = await stat(file)
    if (!found.isFile()) throw new Error('is not a regular file')
    if (found.size > maxHeaderBytes) throw new Error(`has ${found.size} bytes, too many for an index`)
    json = parseStrictJson(await readFile(file))
  } catch (cause) {
    throw new SafetensorsError(`the index ${systemProblem(cause, 'read')}`, { file, cause })
  }
  const weightMap = isObject(json) ? json.weight_map : undefined
  if (!isObject(weightMap)) throw new SafetensorsError('the index has no weight_map object', { file })
  return Object.entries(weightMap).map(([tensor, shard]) => {
    if (typeof shard !== 'string' || !isPlainName(shard)) {
      throw new SafetensorsError(
        `the index lists it in ${quote(shard)}, which is not a file name in the directory of the index`,
        {
          file,
          tensor,
        },
      )
    }
    return [tensor, shard]
  })
}

/**
 * An index is downloaded data, so it may only name files of its own directory: no `..`, no absolute path, no subdirectory. A
 * symbolic link of that name is followed: the Hugging Face cache consists of links, and the user made them, not the index.
 */
function isPlainName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && basename(name) === name && !/[\\:\0]/.test(name)
}
