/** Which device runs the steps: one implementation of `StepDevice` for each kind there is. */
import type { LocalModel } from '../../model/index.js'
import { cudaDevice, type Device, memoryUse } from '../../tensor/index.js'
import { CpuStep } from './cpu-step.js'
import { CudaStep } from './cuda-step.js'
import type { StepDevice } from './step.js'

export interface StepDeviceOptions {
  /** Memory for keys and values. */
  cacheBytes: number
  /** Sequences at once, and tokens of one. */
  maxSequences: number
  maxLength: number
}

/**
 * What an engine takes where nobody says otherwise. A GPU wants many rows at once; of its memory, what is free when the
 * engine is made is shared with a training step, so the cache takes at most two fifths.
 */
export function deviceDefaults(device: Device): {
  maxSequences: number
  cacheBytes: number
  tokenBudget: number
  /** Logits of prompt rows in one step take at most this, as float32. */
  scoredBytes: number
} {
  if (device === 'cpu') return { maxSequences: 128, cacheBytes: 2 ** 30, tokenBudget: 1024, scoredBytes: 2 ** 26 }
  const total = cudaDevice(device)?.totalBytes ?? 0
  const free = Math.max(0, total - memoryUse(device).reservedBytes)
  return { maxSequences: 256, cacheBytes: Math.floor(0.4 * free), tokenBudget: 32768, scoredBytes: 2 ** 30 }
}

export function openStepDevice(model: LocalModel<'language'>, options: StepDeviceOptions): StepDevice {
  if (model.device !== 'cpu') {
    if (model.dtype !== 'bfloat16' && model.dtype !== 'float16')
      throw new RangeError(
        `generation on CUDA is in bfloat16 or float16, not ${model.dtype}; load the model in one of them`,
      )
    return new CudaStep(model.parts, { ...options, device: model.device, dtype: model.dtype })
  }
  if (model.dtype !== 'float32' && model.dtype !== 'bfloat16')
    throw new RangeError(`generation on the CPU is in float32 or bfloat16, not ${model.dtype}`)
  return new CpuStep(model.parts, { ...options, dtype: model.dtype })
}
