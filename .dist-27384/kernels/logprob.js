/** Log-probabilities over a chunk of logits as CUDA kernels (logprob.cu). */
import { Kernel } from '../tensor/index.js';
const THREADS = 1024;
export function logprobKernel(dtype, vocabSize) {
    const elements = `tensor:${dtype}`;
    const [wide, ids] = ['tensor:float32', 'tensor:int64'];
    const kernel = (entry, parameters) => new Kernel({
        file: new URL('./logprob.cu', import.meta.url),
        entry,
        parameters,
        define: { T: dtype, THREADS, VOCABULARY: vocabSize },
    });
    const forward = kernel('logprob_forward', [elements, ids, 'float32', wide, wide, wide]);
    const backward = kernel('logprob_backward', [elements, ids, 'float32', wide, wide, wide, wide]);
    const block = [THREADS];
    return {
        score: (logits, targets, inverseTemperature) => {
            const rows = targets.size(0);
            const make = () => logits.newEmpty([rows], { dtype: 'float32' });
            const [logprobs, entropy, normalizer] = [make(), make(), make()];
            // Refuses logits of another shape, before the kernel reads past them.
            forward.launch({ grid: [rows], block }, logits.view([rows, vocabSize]), targets, inverseTemperature, logprobs, entropy, normalizer);
            return { logprobs, entropy, normalizer };
        },
        gradient_: (logits, targets, inverseTemperature, { normalizer, entropy }, dLogprobs, dEntropy) => {
            const rows = targets.size(0);
            backward.launch({ grid: [rows], block }, logits.view([rows, vocabSize]), targets, inverseTemperature, entropy, normalizer, dLogprobs.contiguous(), dEntropy ? dEntropy.contiguous() : null);
            return logits;
        },
    };
}
//# sourceMappingURL=logprob.js.map