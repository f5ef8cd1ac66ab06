import { namingRows } from '../errors.js';
import { alteredTokens, mergePolicyStatistics, mergeValueStatistics, objective, sftLoss, sftTotals, tokenTotals, valueLoss, } from '../losses/index.js';
import { untilStepped } from '../optimizer-step.js';
import { comparableLogprobs } from './engine-logprobs.js';
/** One step, or none where `targetKl` forbids it. What is not finite stops it before a weight changes, and names its sample. */
export function updatePolicy(options) {
    return namingRows(options.experiences.map(named), 1, () => untilStepped(overflows => policyStep(options, overflows)));
}
async function policyStep(options, overflows) {
    const { actor, experiences, ptx, rates, targetKl } = options;
    const objectiveOptions = withoutMaskedFilter(options.objective, experiences);
    const totals = tokenTotals(experiences.map(({ responseIds }) => responseIds.length));
    const temperature = experiences[0].temperature;
    const entropy = actor.capabilities.entropy &&
        ((objectiveOptions.entropyCoef ?? 0) > 0 ||
            (objectiveOptions.highEntropyTokenRatio ?? 0) > 0 ||
            measuresEntropy(experiences));
    const logprobs = new Array(experiences.length);
    const sums = { value: 0, policy: 0, kl: 0, entropy: 0 };
    let hasKl = false;
    const statistics = [];
    await actor.forwardBackward(experiences.map(sequenceOf), (outputs, indices) => {
        const samples = outputs.map((output, k) => objectiveSample(experiences[indices[k]], output, options));
        const result = objective({ samples, totals, options: objectiveOptions });
        for (const [k, index] of indices.entries())
            logprobs[index] = outputs[k].logprobs;
        sums.value += result.value;
        sums.policy += result.policy;
        sums.kl += result.kl ?? 0;
        hasKl ||= result.kl !== undefined;
        for (const output of outputs)
            for (const one of output.entropy ?? [])
                sums.entropy += one;
        statistics.push(result.statistics);
        return result.gradients.map(({ logprobs: gradient, entropies }) => ({
            logprobs: Float32Array.from(gradient),
            ...(entropies ? { entropy: Float32Array.from(entropies) } : {}),
        }));
    }, { from: experiences.map(({ promptIds }) => promptIds.length), temperature, entropy, packing: options.packing });
    options.beforeStep?.(logprobs);
    const merged = mergePolicyStatistics(statistics);
    const stopped = targetKl !== undefined && merged.approxKl > targetKl;
    const ptxValue = ptx && !stopped ? await addPtx(actor, ptx) : undefined;
    if (stopped)
        actor.zeroGrad();
    return {
        loss: sums.value + (ptx && ptxValue !== undefined ? ptx.coef * ptxValue : 0),
        policy: sums.policy,
        kl: hasKl ? sums.kl : undefined,
        entropy: entropy ? sums.entropy / totals.tokens : undefined,
        ptx: ptxValue,
        statistics: merged,
        logprobs,
        step: stopped ? undefined : { ...(await actor.step(rates)), overflows },
    };
}
/** A scored rollout has its mask of high-entropy tokens, from the policy that sampled: the objective must not choose again. */
function withoutMaskedFilter(options, experiences) {
    return experiences.some(hasMask) ? { ...options, highEntropyTokenRatio: 0 } : options;
}
/** Without entropies the mask of an experience keeps everything, and says nothing. */
function hasMask({ entropy }) {
    return entropy !== undefined;
}
/** Entropies cost a pass over all logits: they are measured here where the rollout was not scored. */
function measuresEntropy(experiences) {
    return experiences[0].logprobs === undefined;
}
/** Adds the gradient of the supervised rows' loss. Gives its value, before the coefficient. */
async function addPtx(actor, { examples, coef }) {
    const masks = examples.map(({ mask }) => mask.subarray(1));
    const totals = sftTotals(masks);
    let value = 0;
    await actor.forwardBackward(examples.map(({ ids }) => ids), (outputs, indices) => {
        const samples = outputs.map(({ logprobs }, k) => ({ logprobs, mask: masks[indices[k]] }));
        const result = sftLoss({ samples, totals });
        value += result.value;
        return result.gradients.map(({ logprobs }) => ({ logprobs: Float32Array.from(logprobs, g => coef * g) }));
    });
    return value;
}
function objectiveSample(one, { logprobs, entropy }, { objective: { tisCap }, sampling }) {
    return {
        name: named(one).where,
        logprobs,
        oldLogprobs: one.logprobs,
        advantages: one.advantages,
        refLogprobs: one.refLogprobs,
        ...(entropy ? { entropies: entropy } : {}),
        ...(hasMask(one) ? { lossMask: one.lossMask } : {}),
        ...(tisCap == null
            ? {}
            : {
                engineLogprobs: comparableLogprobs(one.engineLogprobs, sampling.temperature),
                altered: alteredTokens({ length: one.responseIds.length, ...sampling }),
            }),
    };
}
export function updateCritic(options) {
    return namingRows(options.experiences.map(named), 1, () => untilStepped(overflows => criticStep(options, overflows)));
}
async function criticStep(options, overflows) {
    const { critic, experiences, valueClip, aggregation, maxNewTokens, rates } = options;
    const totals = tokenTotals(experiences.map(({ responseIds }) => responseIds.length));
    const statistics = [];
    let loss = 0;
    await critic.forwardBackward(experiences.map(sequenceOf), (outputs, indices) => {
        const samples = outputs.map(({ values }, k) => {
            const one = experiences[indices[k]];
            return { name: named(one).where, values, oldValues: one.values, returns: one.returns };
        });
        const result = valueLoss({ samples, totals, options: { valueClip, aggregation, maxNewTokens } });
        loss += result.value;
        statistics.push(result.statistics);
        return result.gradients.map(({ values }) => ({ values: Float32Array.from(values) }));
    }, { from: experiences.map(({ promptIds }) => promptIds.length), packing: options.packing });
    const step = { ...(await critic.step(rates)), overflows };
    return { loss, statistics: mergeValueStatistics(statistics), step };
}
/** A sample as errors name it. */
function named({ group, sample }) {
    return { where: `prompt ${group}, sample ${sample}`, rowId: group };
}
function sequenceOf({ promptIds, responseIds }) {
    const whole = new Int32Array(promptIds.length + responseIds.length);
    whole.set(promptIds);
    whole.set(responseIds, promptIds.length);
    return whole;
}
//# sourceMappingURL=update.js.map