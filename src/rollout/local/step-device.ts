/** Opens the `StepDevice` of a model's device. */
import type { DecoderParts } from '../../decoder/index.js'
import type { LocalModel } from '../../model/index.js'
import type { Device, DType } from '../../tensor/index.js'
import { CpuStep } from './cpu-step.js'
import { CudaStep } from './cuda-step.js'
import { deviceSequences, type KvBudget } from './kv-budget.js'
import type { StepDevice } from './step.js'

export interface StepDeviceOptions {
  /** Most concurrent sequences, and most tokens of one. */
  maxSequences: number
  maxLength: number
}

/** Defaults of an engine. A GPU needs many rows in a step; its memory is shared with training, so the cache takes 0.4 of the free memory. */
export function deviceDefaults(device: Device): {
  maxSequences: number
  tokenBudget: number
  kv: KvBudget
  /** Most memory for logits of prompt rows in a step, as float32. */
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
  const { device, dtype, vision } = model
  const problem = engineDtypeProblem(device, dtype)
  if (problem) throw new RangeError(`${problem}; load the model in a supported dtype`)
  if (device !== 'cpu')
    return new CudaStep(parts, { ...options, device, dtype: dtype as 'bfloat16' | 'float16' }, vision)
  return new CpuStep(parts, { ...options, dtype: dtype as 'float32' | 'bfloat16' }, vision)
}

/** Undefined where the engine supports the dtype. */
export function engineDtypeProblem(device: Device, dtype: DType): string | undefined {
  const [where, known]: [string, readonly DType[]] =
    device === 'cpu' ? ['the CPU', ['float32', 'bfloat16']] : ['CUDA', ['bfloat16', 'float16']]
  return known.includes(dtype) ? undefined : `generation on ${where} is in ${known.join(' or ')}, not ${dtype}`
}
