/** Compares a config with its checkpoint and the machine, before anything is built. */
import { totalmem } from 'node:os'
import type { ModelConfig } from '../decoder/index.js'
import { Checkpoint, cudaDevice, type Device, type DType, dtypeBytes, record } from '../tensor/index.js'
import { ModelError } from './errors.js'

const embedding = 'model.embed_tokens.weight'
const outputMatrix = 'lm_head.weight'

/** The config as the checkpoint bears it out. */
export async function fitToCheckpoint(directory: string, config: ModelConfig): Promise<ModelConfig> {
  const checkpoint = await Checkpoint.open(directory)
  try {
    const { layers } = config.decoder
    const found = layersOf(checkpoint.names)
    if (layers > found)
      throw new ModelError(
        `${directory}: config.json says ${layers} layers (num_hidden_layers), the checkpoint has ${found}`,
      )
    return (await outputIsItsOwn(checkpoint, config)) ? untied(config) : config
  } finally {
    await checkpoint.close()
  }
}

function layersOf(names: readonly string[]): number {
  let most = 0
  for (const name of names) {
    const match = /^model\.layers\.(\d+)\./.exec(name)
    if (match) most = Math.max(most, Number(match[1]) + 1)
  }
  return most
}

/**
 * Whether the file has an output matrix that differs from the embedding although the config says they are tied. As in
 * transformers 5, the weights win.
 */
async function outputIsItsOwn(checkpoint: Checkpoint, { decoder, head }: ModelConfig): Promise<boolean> {
  if (head !== 'language' || !decoder.tiedEmbeddings) return false
  if (!checkpoint.has(outputMatrix) || !checkpoint.has(embedding)) return false
  const [a, b] = [checkpoint.info(outputMatrix), checkpoint.info(embedding)]
  // What does not fit is refused when the weights are read.
  if (a.dtype !== b.dtype || a.shape.join() !== b.shape.join()) return true
  const [output, table] = [await checkpoint.read(outputMatrix), await checkpoint.read(embedding)]
  // Off the event loop: these are the largest matrices of a model.
  const compare = record(['tensor', 'tensor'], (a, b) => a.ne(b).any())
  try {
    const differ = await compare.run(output, table)
    try {
      return Boolean((await differ.data())[0])
    } finally {
      differ.dispose()
    }
  } finally {
    compare.dispose()
    output.dispose()
    table.dispose()
  }
}

/** What is written again says what is true. */
function untied(config: ModelConfig): ModelConfig {
  return {
    ...config,
    decoder: { ...config.decoder, tiedEmbeddings: false },
    raw: { ...config.raw, tie_word_embeddings: false },
  }
}

/** Refuses a model whose weights alone are more than the device has memory. */
export function refuseTooLarge(parameters: number, { device, dtype }: { device: Device; dtype: DType }): void {
  const needed = parameters * dtypeBytes(dtype)
  const memory = device === 'cpu' ? totalmem() : (cudaDevice(device)?.totalBytes ?? Number.POSITIVE_INFINITY)
  if (needed > memory)
    throw new ModelError(
      `${parameters.toLocaleString('en')} parameters take ${gigabytes(needed)} in ${dtype}, and ` +
        `${device === 'cpu' ? 'this machine' : device} has ${gigabytes(memory)}; check the sizes in the config`,
    )
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toLocaleString('en', { maximumFractionDigits: 1 })} GB`
