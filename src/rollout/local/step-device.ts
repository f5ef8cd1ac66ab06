/** Which device runs the steps: one implementation of `StepDevice` for each kind there is. */
import type { DecoderParts } from '../../decoder/index.js'
import type { LocalModel } from '../../model/index.js'
import type { Device } from '../../tensor/index.js'
import { CpuStep } from './cpu-step.js'
import { CudaStep } from './cuda-step.js'
import type { KvBudget } from './kv-budget.js'
import type { StepDevice } from './step.js'

export interface StepDeviceOptions {
  /** Sequences at once, and tokens of one. */
  maxSequences: number
  maxLength: number
}

/**
 * What an engine takes where its options say nothing. A GPU wants many rows at once; its memory is shared with a training step,
 * so the cache takes two fifths of what is free.
 */
export function deviceDefaults(device: Device): {
  maxSequences: number
  tokenBudget: number
  kv: KvBudget
  /** Logits of prompt rows in one step take at most this, as float32. */
  scoredBytes: number
} {
  return device === 'cpu'
    ? { maxSequences: 128, tokenBudget: 1024, kv: { cacheBytes: 2 ** 30 }, scoredBytes: 2 ** 26 }
    : { maxSequences: 256, tokenBudget: 32768, kv: { cacheShare: 0.4 }, scoredBytes: 2 ** 30 }
}

/** `parts`: the weights that are sampled from. The KV cache exists only after `allocate`. */
export function openStepDevice(
  model: LocalModel<'language'>,
  parts: DecoderParts,
  options: StepDeviceOptions,
): StepDevice {
  if (model.device !== 'cpu') {
    if (model.dtype !== 'bfloat16' && model.dtype !== 'float16')
      throw new RangeError(
        `generation on CUDA is in bfloat16 or float16, not ${model.dtype}; load the model in one of them`,
      )
    return new CudaStep(parts, { ...options, device: model.device, dtype: model.dtype })
  }
  if (model.dtype !== 'float32' && model.dtype !== 'bfloat16')
    throw new RangeError(`generation on the CPU is in float32 or bfloat16, not ${model.dtype}`)
  return new CpuStep(parts, { ...options, dtype: model.dtype })
}
