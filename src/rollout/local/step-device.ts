/** Which device runs the steps: one implementation of `StepDevice` for each kind there is. */
import type { DecoderParts } from '../../decoder/index.js'
import type { LocalModel } from '../../model/index.js'
import type { Device, DType } from '../../tensor/index.js'
import { CpuStep } from './cpu-step.js'
import { CudaStep } from './cuda-step.js'
import { deviceSequences, type KvBudget } from './kv-budget.js'
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
    ? { maxSequences: deviceSequences.cpu, tokenBudget: 1024, kv: { cacheBytes: 2 ** 30 }, scoredBytes: 2 ** 26 }
    : { maxSequences: deviceSequences.cuda, tokenBudget: 32768, kv: { cacheShare: 0.4 }, scoredBytes: 2 ** 30 }
}

/** `parts`: the weights that are sampled from. The KV cache exists only after `allocate`. */
export function openStepDevice(
  model: LocalModel<'language'>,
  parts: DecoderParts,
  options: StepDeviceOptions,
): StepDevice {
  const { device, dtype } = model
  const problem = engineDtypeProblem(device, dtype)
  if (problem) throw new RangeError(`${problem}; load the model in a supported dtype`)
  if (device !== 'cpu') return new CudaStep(parts, { ...options, device, dtype: dtype as 'bfloat16' | 'float16' })
  return new CpuStep(parts, { ...options, dtype: dtype as 'float32' | 'bfloat16' })
}

/** What the engine does not generate in. */
export function engineDtypeProblem(device: Device, dtype: DType): string | undefined {
  const [where, known]: [string, readonly DType[]] =
    device === 'cpu' ? ['the CPU', ['float32', 'bfloat16']] : ['CUDA', ['bfloat16', 'float16']]
  return known.includes(dtype) ? undefined : `generation on ${where} is in ${known.join(' or ')}, not ${dtype}`
}
