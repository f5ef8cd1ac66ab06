import { namingRows } from '../errors.js';
import { evaluationRows } from '../evaluation-rows.js';
import { mergeRewardModelStatistics, rewardModelLoss, } from '../losses/index.js';
import { stepMetrics, untilStepped } from '../optimizer-step.js';
import { pairOutputs, pairSequences, tokensOf } from '../pairs.js';
import { calibrationError } from './calibration.js';
function lossOf(loss) {
    return typeof loss === 'function' ? loss : call => rewardModelLoss({ ...call, options: loss });
}
/** Trains a reward model: of each pair, the chosen answer's score rises above the rejected one's. */
export async function rewardModelLoop(options) {
    const { model, training, validation, signal } = options;
    const loss = lossOf(options.loss);
    const evaluate = () => evaluateRewardModel({ model, validation: validation, loss, signal });
    // One that a stop left undone.
    await training.evaluateIfDue(evaluate);
    for await (const batch of training.batches()) {
        const sequences = pairSequences(batch);
        const totals = { pairs: batch.length };
        let value = 0;
        const parts = [];
        const { step } = await namingRows(batch, 2, () => untilStepped(async (overflows) => {
            value = 0;
            parts.length = 0;
            await model.forwardBackward(sequences, (outputs, indices) => {
                const result = loss({ samples: scoredPairs(batch, outputs, indices), totals });
                value += result.value;
                parts.push(result.statistics);
                return result.gradients.flatMap(({ chosen, rejected }) => [{ score: chosen }, { score: rejected }]);
            }, { groupSize: 2 });
            return { step: { ...(await model.step(training.rates)), overflows } };
        }));
        const { accuracy, chosenMean, rejectedMean } = mergeRewardModelStatistics(parts);
        await training.stepped({
            'loss/train': value,
            ...stepMetrics(step),
            'reward/accuracy': accuracy,
            'reward/margin': chosenMean - rejectedMean,
            'reward/center': (chosenMean + rejectedMean) / 2,
        }, { tokens: tokensOf(sequences), examples: batch.length });
        await training.evaluateIfDue(evaluate);
        await training.saveIfDue();
    }
    await training.finish(evaluate);
}
/** Loss, accuracy, margin and calibration on held-out pairs. */
export async function evaluateRewardModel(options) {
    const { model, validation, signal } = options;
    const loss = lossOf(options.loss);
    let sum = 0;
    const differences = [];
    for await (const part of evaluationRows(validation)) {
        const outputs = await namingRows(part, 2, () => model.score(pairSequences(part), { signal }));
        const samples = scoredPairs(part, outputs, outputs.map((_, i) => i));
        sum += part.length * loss({ samples, totals: { pairs: part.length } }).value;
        for (const { chosen, rejected } of samples)
            differences.push(chosen - rejected);
    }
    const pairs = differences.length;
    return {
        'loss/validation': sum / pairs,
        'validation/accuracy': differences.filter(difference => difference > 0).length / pairs,
        'validation/margin': differences.reduce((total, difference) => total + difference, 0) / pairs,
        'validation/calibration': calibrationError(differences),
    };
}
function scoredPairs(rows, outputs, indices) {
    return pairOutputs(outputs, indices).map(({ pair, chosen, rejected }) => {
        const { where, margin } = rows[pair];
        return { name: where, chosen: chosen.score, rejected: rejected.score, margin };
    });
}
//# sourceMappingURL=loop.js.map