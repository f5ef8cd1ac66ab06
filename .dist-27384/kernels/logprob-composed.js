import { rounding } from './rounding.js';
export function logprobComposed(dtype) {
    const { widen, narrow } = rounding(dtype);
    return {
        score: (logits, targets, inverseTemperature) => {
            const scaled = widen(logits).mul(inverseTemperature);
            const normalizer = scaled.logsumexp([1]);
            const picked = scaled.gather(1, targets.unsqueeze(1)).squeeze(1);
            const logp = scaled.sub(normalizer.unsqueeze(1));
            return { logprobs: picked.sub(normalizer), entropy: logp.exp().mul(logp).sum([1]).neg(), normalizer };
        },
        gradient_: (logits, targets, inverseTemperature, { normalizer, entropy }, dLogprobs, dEntropy) => {
            const logp = widen(logits).mul(inverseTemperature).sub_(normalizer.unsqueeze(1));
            const arriving = dLogprobs.unsqueeze(1);
            // d logprob = onehot - p; d entropy = -p (log p + entropy)
            const factor = dEntropy ? logp.add(entropy.unsqueeze(1)).mul_(dEntropy.unsqueeze(1)).add_(arriving) : arriving;
            const found = logp.exp().mul_(factor.neg()).scatterAdd_(1, targets.unsqueeze(1), arriving);
            return logits.copy_(narrow(found.mul_(inverseTemperature)));
        },
    };
}
//# sourceMappingURL=logprob-composed.js.map