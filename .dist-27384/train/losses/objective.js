import { z } from 'zod';
import { klEstimators } from '../../experience/index.js';
import { refineAggregation } from './aggregation.js';
import { resolvedEntropyLoss } from './entropy.js';
import { resolvedKlLoss } from './kl.js';
import { resolveOptions } from './options.js';
import { resolvedPolicyLoss } from './policy.js';
import { policyShapes } from './policy-options.js';
import { sftLoss } from './sft.js';
/** What an update adds to its policy loss. */
export const objectiveShape = {
    klCoef: z.number().min(0).default(0).describe('cost of KL to the reference as a loss; 0 leaves it out'),
    klEstimator: z.enum(klEstimators).default('k3').describe('how KL is estimated from the sampled token'),
    entropyCoef: z.number().min(0).default(0).describe('what entropy is worth'),
    ptxCoef: z.number().min(0).default(0).describe('what the loss of supervised mix-in data counts'),
};
const objectiveSchemas = {
    ppo: z.strictObject({ ...policyShapes.ppo, ...objectiveShape }).superRefine(refineAggregation),
    gspo: z.strictObject({ ...policyShapes.gspo, ...objectiveShape }).superRefine(refineAggregation),
    gmpo: z.strictObject({ ...policyShapes.gmpo, ...objectiveShape }).superRefine(refineAggregation),
    cispo: z.strictObject({ ...policyShapes.cispo, ...objectiveShape }).superRefine(refineAggregation),
    cpg: z.strictObject({ ...policyShapes.cpg, ...objectiveShape }).superRefine(refineAggregation),
};
/**
 * Everything one update of a policy minimises, over some or all samples of its batch. KL and entropy are aggregated as the policy
 * loss is, over all tokens: importance weights and the filter of tokens concern the policy loss alone. They are measured
 * wherever samples have the numbers, also where they cost nothing.
 *
 * @example
 * const samples: ObjectiveSample[] = [{ logprobs: [-1, -0.4], oldLogprobs: [-1.1, -0.4], advantages: [0.5, 0.5] }]
 * const totals = tokenTotals([2])
 * const { value, gradients } = objective({ samples, totals, options: { loss: 'ppo', aggregation: 'token-mean' } })
 */
export function objective(call) {
    const { samples, ptxSamples = [], totals } = call;
    const options = resolveObjectiveOptions(call.options);
    const { klCoef, entropyCoef, ptxCoef } = options;
    const policy = resolvedPolicyLoss({ samples, totals, options });
    let value = policy.value;
    const kl = klCoef > 0 || hasAll(samples, 'refLogprobs')
        ? resolvedKlLoss({ samples: samples, totals, options })
        : undefined;
    if (kl && klCoef > 0) {
        value += klCoef * kl.value;
        for (const [i, { logprobs }] of policy.gradients.entries())
            addScaled(logprobs, kl.gradients[i].logprobs, klCoef);
    }
    const entropy = entropyCoef > 0 || hasAll(samples, 'entropies')
        ? resolvedEntropyLoss({ samples: samples, totals, options })
        : undefined;
    if (entropy)
        value += entropyCoef * entropy.value;
    const ptx = ptxSamples.length > 0 ? sftLoss({ samples: ptxSamples, totals: { tokens: totals.ptxTokens ?? 0 } }) : undefined;
    if (ptx)
        value += ptxCoef * ptx.value;
    for (const { logprobs } of ptx?.gradients ?? [])
        scale(logprobs, ptxCoef);
    return {
        value,
        policy: policy.value,
        kl: kl?.value,
        entropy: entropy && -entropy.value,
        ptx: ptx?.value,
        gradients: policy.gradients.map(({ logprobs }, i) => entropy && entropyCoef > 0
            ? { logprobs, entropies: scale(entropy.gradients[i].entropies, entropyCoef) }
            : { logprobs }),
        ptxGradients: ptx?.gradients ?? [],
        statistics: policy.statistics,
    };
}
/** Fills in defaults; what cannot be is a `RangeError`. A trainer calls it once to know before the run. */
export function resolveObjectiveOptions(options) {
    const { loss, ...given } = options;
    const schema = objectiveSchemas[loss];
    if (!schema)
        throw new RangeError(`there is no policy loss "${loss}"; there are ${Object.keys(objectiveSchemas).join(', ')}`);
    return { loss, ...resolveOptions(loss, schema, given) };
}
function hasAll(samples, field) {
    return samples.length > 0 && samples.every(sample => sample[field] !== undefined);
}
function addScaled(target, source, factor) {
    for (let t = 0; t < target.length; t++)
        target[t] += factor * source[t];
}
function scale(target, factor) {
    for (let t = 0; t < target.length; t++)
        target[t] *= factor;
    return target;
}
//# sourceMappingURL=objective.js.map