import { CpuStep } from './cpu-step.js';
import { CudaStep } from './cuda-step.js';
/**
 * What an engine takes where its options say nothing. A GPU wants many rows at once; its memory is shared with a training step,
 * so the cache takes two fifths of what is free.
 */
export function deviceDefaults(device) {
    return device === 'cpu'
        ? { maxSequences: 128, tokenBudget: 1024, kv: { cacheBytes: 2 ** 30 }, scoredBytes: 2 ** 26 }
        : { maxSequences: 256, tokenBudget: 32768, kv: { cacheShare: 0.4 }, scoredBytes: 2 ** 30 };
}
/** `parts`: the weights that are sampled from. The KV cache exists only after `allocate`. */
export function openStepDevice(model, parts, options) {
    if (model.device !== 'cpu') {
        if (model.dtype !== 'bfloat16' && model.dtype !== 'float16')
            throw new RangeError(`generation on CUDA is in bfloat16 or float16, not ${model.dtype}; load the model in one of them`);
        return new CudaStep(parts, { ...options, device: model.device, dtype: model.dtype });
    }
    if (model.dtype !== 'float32' && model.dtype !== 'bfloat16')
        throw new RangeError(`generation on the CPU is in float32 or bfloat16, not ${model.dtype}`);
    return new CpuStep(parts, { ...options, dtype: model.dtype });
}
//# sourceMappingURL=step-device.js.map