/** Every loss there is, by its name: what a config may choose from, what the docs list and what the tests go through. */
import { z } from 'zod';
import { entropyLoss, entropyLossSchema } from './entropy.js';
import { klLoss, klLossSchema } from './kl.js';
import { ktoLoss, ktoLossSchema } from './kto.js';
import { objective, objectiveShape } from './objective.js';
import { policyLoss } from './policy.js';
import { policyLossNames, policySchemas } from './policy-options.js';
import { preferenceLoss, preferenceSchemas, } from './preference.js';
import { rewardModelLoss, rewardModelLossSchema } from './reward-model.js';
import { sftLoss, sftLossSchema } from './sft.js';
import { valueLoss, valueLossSchema } from './value.js';
const policy = (loss, description, heldConstant) => ({
    kind: 'policy',
    description,
    heldConstant,
    options: policySchemas[loss],
    loss: (call) => policyLoss({ ...call, options: { loss, ...call.options } }),
});
const preference = (loss, description) => ({
    kind: 'preference',
    description,
    heldConstant: 'nothing',
    options: preferenceSchemas[loss],
    loss: (call) => preferenceLoss({ ...call, options: { loss, ...call.options } }),
});
/**
 * @example
 * const samples = [{ logprobs: [-1, -0.4], advantages: [0.5, 0.5] }]
 * const { gradients } = losses.ppo.loss({ samples, totals: tokenTotals([2]), options: { clipHigh: 0.28 } })
 */
export const losses = {
    ppo: policy('ppo', 'clipped ratios of tokens', 'nothing'),
    gspo: policy('gspo', 'the clipped ratio of a whole response', 'nothing'),
    gmpo: policy('gmpo', 'the geometric mean of clipped token ratios', 'nothing'),
    cispo: policy('cispo', 'clipped ratios as weights, every token with its gradient', 'ratio'),
    cpg: policy('cpg', 'clipped log-probabilities, with drift (CPGD)', 'nothing'),
    kl: {
        kind: 'kl',
        description: 'KL to the reference',
        heldConstant: 'nothing',
        options: klLossSchema,
        loss: klLoss,
    },
    entropy: {
        kind: 'entropy',
        description: 'minus the entropy',
        heldConstant: 'nothing',
        options: entropyLossSchema,
        loss: entropyLoss,
    },
    value: {
        kind: 'value',
        description: "a critic's values and the returns",
        heldConstant: 'nothing',
        options: valueLossSchema,
        loss: valueLoss,
    },
    'reward-model': {
        kind: 'reward-model',
        description: 'ranking of pairs by their scores',
        heldConstant: 'nothing',
        options: rewardModelLossSchema,
        loss: rewardModelLoss,
    },
    dpo: preference('dpo', 'direct preference optimisation'),
    cdpo: preference('cdpo', 'dpo with labels that may be wrong'),
    ipo: preference('ipo', 'a fixed distance between the log-ratios of a pair'),
    kto: {
        kind: 'kto',
        description: 'responses labelled one by one',
        heldConstant: 'nothing',
        options: ktoLossSchema,
        loss: ktoLoss,
    },
    sft: {
        kind: 'sft',
        description: 'supervised fine-tuning',
        heldConstant: 'nothing',
        options: sftLossSchema,
        loss: sftLoss,
    },
    objective: {
        kind: 'objective',
        description: 'a whole update: a policy loss with its options, and these',
        heldConstant: 'nothing',
        options: z.strictObject({
            loss: z.enum(policyLossNames).describe('the policy loss'),
            ...objectiveShape,
        }),
        loss: objective,
    },
};
//# sourceMappingURL=registry.js.map