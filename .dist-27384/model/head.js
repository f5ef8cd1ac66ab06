import { cat, customFunction } from '../tensor/index.js';
/** Logits of a chunk take about this much: enough rows for an efficient product, little beside a model. */
const chunkBytes = { cpu: 16 << 20, cuda: 2 ** 31 };
/** Log-softmaxes that are kept rather than made again; the kernels of a GPU never keep any. */
const keepBytes = 48 << 20;
export function planHead(rows, vocabSize, options) {
    const { training, device, ...wanted } = options;
    const perRow = vocabSize * 4;
    const room = chunkBytes[device === 'cpu' ? 'cpu' : 'cuda'];
    // A multiple of 16 rows, so that every chunk starts where a kernel's wide accesses may.
    const rowsPerChunk = Math.max(16, Math.floor(room / perRow / 16) * 16);
    const keep = training && device === 'cpu' && rows * perRow <= keepBytes;
    return { rowsPerChunk, chunks: Math.max(1, Math.ceil(rows / rowsPerChunk)), keep, ...wanted };
}
/** A plan's name: programs are recorded once for each. */
export function planKey({ chunks, keep, scaled, trainWeight, entropy }) {
    return [chunks, keep, scaled, trainWeight, entropy].join();
}
/** A function of `[rows, hidden]`, `[vocabulary, hidden]` and int64 `[rows]`. `fused`: kernels for a chunk of logits. */
export function makeLanguageHead(plan, ops, fused) {
    return fused ? fusedHead(plan, ops, fused) : composedHead(plan, ops);
}
/** Calls `fn` for every chunk with what takes a chunk's rows out of a tensor. */
function chunked({ chunks, rowsPerChunk }) {
    return fn => Array.from({ length: chunks }, (_, i) => fn(x => (chunks === 1 ? x : x.slice(0, i * rowsPerChunk, (i + 1) * rowsPerChunk)), i));
}
const join = (parts) => (parts.length === 1 ? parts[0] : cat(parts));
/** The gradients of the hidden states and, summed over chunks, of the weight. */
function headGradient(plan, ops, weight) {
    let dWeight = null;
    return {
        hidden(dLogits, h) {
            if (plan.trainWeight)
                dWeight = dWeight ? dWeight.addmm_(dLogits.t(), h) : dLogits.t().mm(h);
            return ops.product(dLogits, weight.t());
        },
        weight: () => dWeight,
    };
}
/** Of operators: a chunk's log-softmax carries everything, and may be kept. */
function composedHead(plan, ops) {
    const each = chunked(plan);
    const logSoftmax = (hidden, weight, inverseTemperature) => {
        const logits = ops.product(hidden, weight);
        return (plan.scaled ? logits.mul_(inverseTemperature) : logits).logSoftmax(-1, { dtype: 'float32' });
    };
    return customFunction({
        inputs: ['tensor', 'tensor', 'tensor', 'number'],
        forward: (hidden, weight, targets, inverseTemperature) => {
            const kept = [];
            const logprobs = [];
            const entropy = [];
            each(chunk => {
                const logp = logSoftmax(chunk(hidden), weight, inverseTemperature);
                if (plan.keep)
                    kept.push(logp);
                logprobs.push(logp.gather(1, chunk(targets).unsqueeze(1)).squeeze(1));
                if (plan.entropy)
                    entropy.push(logp.exp().mul_(logp).sum([1]).neg());
            });
            const entropies = plan.entropy ? [join(entropy)] : [];
            return { outputs: [join(logprobs), ...entropies], saved: [hidden, weight, targets, ...entropies, ...kept] };
        },
        backward: ({ saved: [hidden, weight, targets, ...rest], gradients, numbers: [inverseTemperature] }) => {
            const entropy = plan.entropy ? rest.shift() : undefined;
            const gradient = headGradient(plan, ops, weight);
            const dHidden = each((chunk, i) => {
                const h = chunk(hidden);
                const logp = plan.keep ? rest[i] : logSoftmax(h, weight, inverseTemperature);
                const dLogprobs = chunk(gradients[0]).unsqueeze(1);
                // d logprob = onehot - p; d entropy = -p (log p + entropy)
                let factor = dLogprobs;
                if (entropy) {
                    const dEntropy = chunk(gradients[1]).unsqueeze(1);
                    factor = logp.add(chunk(entropy).unsqueeze(1)).mul_(dEntropy).add_(dLogprobs);
                }
                let dLogits = logp.exp().mul_(factor.neg()).scatterAdd_(1, chunk(targets).unsqueeze(1), dLogprobs);
                if (plan.scaled)
                    dLogits = dLogits.mul_(inverseTemperature);
                return gradient.hidden(dLogits.typeAs(weight), h);
            });
            return [join(dHidden), gradient.weight(), null];
        },
    });
}
/** With kernels: one pass over a chunk's logits each way, the gradient written over them. */
function fusedHead(plan, ops, fused) {
    const each = chunked(plan);
    return customFunction({
        inputs: ['tensor', 'tensor', 'tensor', 'number'],
        forward: (hidden, weight, targets, inverseTemperature) => {
            const scored = each(chunk => fused.score(ops.product(chunk(hidden), weight), chunk(targets), inverseTemperature));
            const entropy = join(scored.map(part => part.entropy));
            const normalizer = join(scored.map(part => part.normalizer));
            const logprobs = join(scored.map(part => part.logprobs));
            return {
                outputs: plan.entropy ? [logprobs, entropy] : [logprobs],
                saved: [hidden, weight, targets, entropy, normalizer],
            };
        },
        backward: ({ saved: [hidden, weight, targets, entropy, normalizer], gradients, numbers: [inverseTemperature] }) => {
            const gradient = headGradient(plan, ops, weight);
            const dHidden = each(chunk => {
                const h = chunk(hidden);
                const scored = { entropy: chunk(entropy), normalizer: chunk(normalizer) };
                const dEntropy = gradients[1] ? chunk(gradients[1]) : null;
                const logits = ops.product(h, weight);
                return gradient.hidden(fused.gradient_(logits, chunk(targets), inverseTemperature, scored, chunk(gradients[0]), dEntropy), h);
            });
            return [join(dHidden), gradient.weight(), null];
        },
    });
}
//# sourceMappingURL=head.js.map