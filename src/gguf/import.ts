/** A GGUF file as a Hugging Face directory, tensor by tensor: never more than one of them is in memory. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDirectoryAtomic } from '../files/index.js'
import { Tensor, unscoped, writeCheckpoint, zeros } from '../tensor/index.js'
import { Tokenizer } from '../text/index.js'
import { configFrom } from './config-in.js'
import { GgufError } from './errors.js'
import { GgufFile, type ReadDtype } from './file.js'
import { quoted } from './header.js'
import { permuteHeads } from './permute.js'
import { type NamedTensor, namedTensors } from './tensor-names.js'
import { tokenizerFrom, writeTokenizer } from './tokenizer-in.js'

export interface ImportGgufOptions {
  /** The directory to write; it must not exist, or be empty. */
  readonly out: string
  /** Of the weights. Default: that of the matrices where it is one of float32, float16 and bfloat16, float32 for quantised ones. */
  readonly dtype?: ReadDtype | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: { bytesDone: number; bytesTotal: number }) => void) | undefined
}

export interface Imported {
  readonly architecture: string
  readonly parameters: number
  readonly bytes: number
  readonly dtype: ReadDtype
  /** The tensor types of the file. */
  readonly types: readonly string[]
}

/**
 * Writes the model of a GGUF file (or of the parts of one) as a directory that Whetstone and transformers load.
 *
 * @example
 * await importGguf('model.Q4_K_M.gguf', { out: 'models/imported' })
 */
export async function importGguf(
  path: string,
  { out, dtype, signal, onProgress }: ImportGgufOptions,
): Promise<Imported> {
  const file = await GgufFile.open(path)
  try {
    const rows = file.info('token_embd.weight')?.shape[0] ?? 0
    const tokenizer = tokenizerFrom(file.metadata, { path, rows })
    const { config, architecture } = await configFrom(file, tokenizer.roles)
    const tensors = namedTensors(config.decoder, architecture)
    checkTensors(file, tensors)
    const chosen = dtype ?? ownDtype(file, tensors)
    return await writeDirectoryAtomic(out, async at => {
      const raw = { ...config.raw, dtype: chosen }
      await writeFile(join(at, 'config.json'), `${JSON.stringify(raw, null, 2)}\n`)
      await writeTokenizer(at, tokenizer)
      await Tokenizer.load(at).catch((cause: Error) => {
        throw new GgufError(`${path}: the tokenizer in the file cannot be used: ${cause.message.replaceAll(at, out)}`, {
          cause,
        })
      })
      const sizes = await writeWeights(at, file, tensors, { dtype: chosen, signal, onProgress })
      return {
        architecture: String((raw as { architectures?: unknown[] }).architectures?.[0]),
        dtype: chosen,
        types: [...new Set(file.names.map(name => file.info(name)!.type))],
        ...sizes,
      }
    })
  } finally {
    await file.close()
  }
}

/** The dtype of the matrices, where they have one that a checkpoint may have. */
function ownDtype(file: GgufFile, tensors: readonly NamedTensor[]): ReadDtype {
  const types = new Set(tensors.filter(({ shape }) => shape.length > 1).map(({ gguf }) => file.info(gguf)!.type))
  const [only] = types
  if (types.size === 1 && only === 'f16') return 'float16'
  if (types.size === 1 && only === 'bf16') return 'bfloat16'
  return 'float32'
}

function checkTensors(file: GgufFile, tensors: readonly NamedTensor[]): void {
  for (const { gguf, shape } of tensors) {
    const info = file.info(gguf)
    if (!info) throw new GgufError(`${file.path} has no tensor ${gguf}`)
    if (info.shape.join() !== shape.join())
      throw new GgufError(
        `${file.path}: ${gguf} has the sizes ${info.shape.join(' x ')}, expected ${shape.join(' x ')}`,
      )
  }
  const known = new Set([...tensors.map(({ gguf }) => gguf), 'rope_freqs.weight'])
  const other = file.names.find(name => !known.has(name))
  if (other !== undefined)
    throw new GgufError(`${file.path}: tensor ${quoted(other)} is not part of this architecture as it is known here`)
}

async function writeWeights(
  directory: string,
  file: GgufFile,
  tensors: readonly NamedTensor[],
  { dtype, signal, onProgress }: Pick<ImportGgufOptions, 'signal' | 'onProgress'> & { dtype: ReadDtype },
): Promise<{ parameters: number; bytes: number }> {
  // Only their shapes; the numbers come one tensor at a time.
  const shapes = new Map(
    tensors.map(({ checkpoint, shape }) => [
      checkpoint,
      unscoped(() => {
        const one = zeros([1], { dtype })
        const wide = one.expand([...shape])
        one.dispose()
        return wide
      }),
    ]),
  )
  const byName = new Map(tensors.map(tensor => [tensor.checkpoint, tensor]))
  const all = [...shapes.values()]
  try {
    await writeCheckpoint(directory, shapes, {
      ...(signal && { signal }),
      ...(onProgress && { onProgress }),
      materialize: name => readTensor(file, byName.get(name)!, { dtype, signal }),
    })
    return {
      parameters: all.reduce((sum, { numel }) => sum + numel, 0),
      bytes: all.reduce((sum, { nbytes }) => sum + nbytes, 0),
    }
  } finally {
    for (const tensor of all) tensor.dispose()
  }
}

async function readTensor(
  file: GgufFile,
  { gguf, shape, permutedHeads }: NamedTensor,
  { dtype, signal }: { dtype: ReadDtype; signal: AbortSignal | undefined },
): Promise<Tensor> {
  const tensor = unscoped(() => Tensor.empty(shape, { dtype }))
  try {
    const memory = tensor.bytes()
    await file.readInto(gguf, memory, { dtype, ...(signal && { signal }) })
    if (permutedHeads !== undefined)
      memory.set(await permuteHeads(memory, { rows: shape[0]!, heads: permutedHeads, to: 'halves' }))
    return tensor
  } catch (error) {
    tensor.dispose()
    throw error
  }
}
