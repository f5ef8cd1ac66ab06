/** Compares a config with its checkpoint and the machine, before anything is built. */
import { totalmem } from 'node:os'
import { checkpointName, type ModelConfig } from '../decoder/index.js'
import { Checkpoint, cudaDevice, type Device, type DType, dtypeBytes, record } from '../tensor/index.js'
import { ModelError } from './errors.js'

const outputMatrix = 'lm_head.weight'

/** The config as the checkpoint bears it out. */
export async function fitToCheckpoint(directory: string, config: ModelConfig): Promise<ModelConfig> {
  const checkpoint = await Checkpoint.open(directory)
  try {
    const { layers } = config.decoder
    const named = namedAs(config, checkpoint.names)
    const found = layersOf(checkpoint.names)
    if (layers > found)
      throw new ModelError(
        `${directory}: config.json says ${layers} layers (num_hidden_layers), the checkpoint has ${found}`,
      )
    return (await outputIsItsOwn(checkpoint, named)) ? untied(named) : named
  } finally {
    await checkpoint.close()
  }
}

/** The config with the names that the checkpoint has, of those that a vision-language model may have. */
function namedAs(config: ModelConfig, present: readonly string[]): ModelConfig {
  const { vision } = config.decoder
  if (!vision) return config
  const names = present.some(name => name.startsWith('model.language_model.')) ? 'nested' : 'flat'
  return { ...config, decoder: { ...config.decoder, vision: { ...vision, names } } }
}

function layersOf(names: readonly string[]): number {
  let most = 0
  for (const name of names) {
    const match = /^model\.(?:language_model\.)?layers\.(\d+)\./.exec(name)
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
  const embedding = checkpointName('model.embed_tokens.weight', decoder.vision)
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
  const nested = config.raw.text_config as Record<string, unknown> | undefined
  const said = { tie_word_embeddings: false }
  return {
    ...config,
    decoder: { ...config.decoder, tiedEmbeddings: false },
    raw: { ...config.raw, tie_word_embeddings: false, ...(nested && { text_config: { ...nested, ...said } }) },
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
