/** How much memory the KV cache takes: decided when it is taken, from what is free then. */
import { freemem } from 'node:os'
import type { DecoderConfig } from '../../decoder/index.js'
import { cudaDevice, type Device, type DType, dtypeBytes, memoryUse } from '../../tensor/index.js'
import { blockSize, blocksOfSequence } from './blocks.js'

/** Says what is free on a device; a test, or a program that divides a card among several models, has one of its own. */
export interface DeviceMemory {
  freeBytes(device: Device): number
}

/** The device as libtorch's allocator sees it. What it keeps for later use is free: it gives it back when it has to. */
export const deviceMemory: DeviceMemory = {
  freeBytes: device => {
    if (device === 'cpu') return freemem()
    return Math.max(0, (cudaDevice(device)?.totalBytes ?? 0) - memoryUse(device).bytes)
  },
}

/** A size, or a share of what is free when the memory is taken. */
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

/** Sequences that one step on a GPU generates at most. */
const mostSequences = 1024

/**
 * Sequences for an engine on a GPU to generate at once: all samples of a rollout, where the cache has room for them. A step reads all
 * weights however many sequences it has, so that few of them at a time take longer.
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

/** Sequences at once where nothing else is known. */
export const deviceSequences = { cpu: 128, cuda: 256 }

/** How many blocks a KV cache of so many bytes has; more than the sequences can fill are not taken. */
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
