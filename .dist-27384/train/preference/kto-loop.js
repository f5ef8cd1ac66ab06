import { namingRows } from '../errors.js';
import { evaluationRows } from '../evaluation-rows.js';
import { ktoLoss, ktoTotals, mergeKtoStatistics, } from '../losses/index.js';
import { stepMetrics, untilStepped } from '../optimizer-step.js';
import { tokensOf } from '../pairs.js';
import { sumLogprobs } from './reference-logprobs.js';
import { labelledResponses, mismatchedResponses } from './responses.js';
/** kto: against the reference, desirable answers become likelier than the policy's drift makes any answer, undesirable ones less. */
export async function ktoLoop(options) {
    const { model, reference, training, validation, loss } = options;
    const evaluate = () => evaluateKto({ ...options, validation: validation });
    // One that a stop left undone.
    await training.evaluateIfDue(evaluate);
    for await (const batch of training.batches()) {
        const totals = await batchTotals(batch, options);
        const responses = labelledResponses(batch);
        const sequences = responses.map(({ ids }) => ids);
        let value = 0;
        const parts = [];
        const { step } = await namingRows(batch, 1, () => untilStepped(async (overflows) => {
            value = 0;
            parts.length = 0;
            await model.forwardBackward(sequences, (outputs, indices) => {
                const samples = ktoSamples(batch, reference, outputs, indices);
                const result = ktoLoss({ samples, totals, options: loss });
                value += result.value;
                parts.push(result.statistics);
                return result.gradients.map(({ policy }, k) => ({
                    logprobs: new Float32Array(outputs[k].logprobs.length).fill(policy),
                }));
            }, { from: responses.map(({ from }) => from) });
            return { step: { ...(await model.step(training.rates)), overflows } };
        }));
        await training.stepped({ 'loss/train': value, ...stepMetrics(step), 'preference/kl': totals.z0, ...rewards(mergeKtoStatistics(parts)) }, { tokens: tokensOf(sequences), examples: batch.length });
        await training.evaluateIfDue(evaluate);
        await training.saveIfDue();
    }
    await training.finish(evaluate);
}
/** Loss and margin on held-out responses, each part of them with a point of reference of its own. */
export async function evaluateKto(options) {
    const { model, reference, validation, loss, signal } = options;
    let [sum, count] = [0, 0];
    const parts = [];
    for await (const part of evaluationRows(validation)) {
        const totals = await batchTotals(part, options);
        const responses = labelledResponses(part);
        const sequences = responses.map(({ ids }) => ids);
        const from = responses.map(response => response.from);
        const outputs = await namingRows(part, 1, () => model.score(sequences, { from, signal }));
        const samples = ktoSamples(part, reference, outputs, [...sequences.keys()]);
        const { value, statistics } = ktoLoss({ samples, totals, options: loss });
        sum += value * part.length;
        count += part.length;
        parts.push(statistics);
    }
    const { 'preference/margin': margin } = rewards(mergeKtoStatistics(parts));
    return { 'loss/validation': sum / count, ...(margin === undefined ? {} : { 'validation/margin': margin }) };
}
/** z0 from the policy as it is before the step. Where no two prompts of a batch differ there is nothing to estimate it from. */
async function batchTotals(batch, { model, reference, maxLength }) {
    const mismatched = mismatchedResponses(batch, maxLength);
    if (mismatched.length === 0)
        return { responses: batch.length, z0: 0 };
    const rows = mismatched.map(({ row }) => row);
    const sequences = mismatched.map(({ ids }) => ids);
    const from = mismatched.map(response => response.from);
    const outputs = await namingRows(rows, 1, () => model.score(sequences, { from }));
    return ktoTotals({
        responses: batch.length,
        mismatched: mismatched.map(({ key, row }, i) => ({
            name: row.where,
            policy: sumLogprobs(outputs[i].logprobs),
            ref: reference.get(key),
        })),
    });
}
function ktoSamples(rows, reference, outputs, indices) {
    return outputs.map(({ logprobs }, k) => {
        const { where, rowId, desirable } = rows[indices[k]];
        return { name: where, policy: sumLogprobs(logprobs), ref: reference.get(rowId), desirable };
    });
}
/** A batch may have answers of one kind alone: the other has no mean, and they have no margin. */
function rewards(statistics) {
    const { desirable, undesirable, desirableRewardMean, undesirableRewardMean } = statistics;
    return {
        ...(desirable > 0 ? { 'preference/chosen_reward': desirableRewardMean } : {}),
        ...(undesirable > 0 ? { 'preference/rejected_reward': undesirableRewardMean } : {}),
        ...(desirable > 0 && undesirable > 0 ? { 'preference/margin': desirableRewardMean - undesirableRewardMean } : {}),
    };
}
//# sourceMappingURL=kto-loop.js.map