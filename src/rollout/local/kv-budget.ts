/** The size of the KV cache: computed from the free memory when it is allocated. */
import type { DecoderConfig } from '../../decoder/index.js'
import { type Device, type DType, dtypeBytes, freeMemory } from '../../tensor/index.js'
import { blockSize, blocksOfSequence } from './blocks.js'

/** Reports free memory of a device. Tests, and programs that share a card among models, have their own. */
export interface DeviceMemory {
  freeBytes(device: Device): number
}

export const deviceMemory: DeviceMemory = { freeBytes: freeMemory }

/** A size, or a share of the free memory when it is allocated. */
export type KvBudget = { cacheBytes: number } | { cacheShare: number }

/** The one of two options that was given. */
export function kvBudget(options: { cacheBytes?: number; cacheShare?: number }, fallback: KvBudget): KvBudget {
  const { cacheBytes, cacheShare } = options
  if (cacheBytes !== undefined && cacheShare !== undefined)
    throw new RangeError('cacheBytes and cacheShare both set the size of the KV cache; give only one of them')
  if (cacheBytes !== undefined) {
    if (!(cacheBytes > 0 && cacheBytes < Number.POSITIVE_INFINITY))
      throw new RangeError(`cacheBytes should be a number of bytes, got ${cacheBytes}`)
    return { cacheBytes }
  }
  if (cacheShare === undefined) return fallback
  if (!(cacheShare > 0 && cacheShare <= 1))
    throw new RangeError(`cacheShare should be above 0 and at most 1, got ${cacheShare}`)
  return { cacheShare }
}

export function budgetBytes(budget: KvBudget, memory: DeviceMemory, device: Device): number {
  if ('cacheBytes' in budget) return budget.cacheBytes
  return Math.floor(budget.cacheShare * memory.freeBytes(device))
}

/** Most sequences of a step on a GPU. */
const mostSequences = 1024

/**
 * How many sequences an engine on a GPU generates at the same time: all samples of a rollout, if the cache has room. A step reads all weights
 * for any number of sequences, so few sequences at a time take longer.
 */
export function sequencesAtOnce(
  { layers, kvHeads, headDim }: Pick<DecoderConfig, 'layers' | 'kvHeads' | 'headDim'>,
  options: { samples: number; tokensPerSample: number; cacheBytes: number; dtype: DType },
): number {
  const { samples, tokensPerSample, cacheBytes, dtype } = options
  const bytes = layers * 2 * kvHeads * headDim * dtypeBytes(dtype) * tokensPerSample
  const usual = deviceSequences.cuda
  return Math.max(usual, Math.min(mostSequences, samples, Math.floor(cacheBytes / bytes)))
}

/** Default number of concurrent sequences. */
export const deviceSequences = { cpu: 128, cuda: 256 }

/** Number of blocks of a KV cache of this size; not more than the sequences can fill. */
export function kvBlocks(
  { layers, kvHeads, headDim }: Pick<DecoderConfig, 'layers' | 'kvHeads' | 'headDim'>,
  options: { cacheBytes: number; dtype: DType; maxSequences: number; maxLength: number },
): number {
  const { cacheBytes, dtype, maxSequences, maxLength } = options
  const bytes = layers * 2 * kvHeads * headDim * blockSize * dtypeBytes(dtype)
  const blocks = Math.min(Math.floor(cacheBytes / bytes), maxSequences * blocksOfSequence(maxLength))
  if (blocks < 2) throw new RangeError(`a KV cache of ${cacheBytes} bytes is too small: a block takes ${bytes}`)
  return blocks
}
