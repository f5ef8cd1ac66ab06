import { namingRows } from '../errors.js';
import { evaluationRows } from '../evaluation-rows.js';
import { sftLoss, sftTotals } from '../losses/index.js';
import { stepMetrics, untilStepped } from '../optimizer-step.js';
import { tokensOf } from '../pairs.js';
/** Supervised fine-tuning: the log-probabilities of the trained tokens go up. */
export async function sftLoop({ model, training, validation, packing, signal }) {
    const evaluate = () => evaluateSft({ model, validation: validation, packing, signal });
    // One that a stop left undone.
    await training.evaluateIfDue(evaluate);
    for await (const batch of training.batches()) {
        const rows = batch.map(trainedPart);
        const totals = sftTotals(rows.map(row => row.mask));
        let loss = 0;
        const { step } = await namingRows(batch, 1, () => untilStepped(async (overflows) => {
            loss = 0;
            await model.forwardBackward(rows.map(row => row.ids), (outputs, indices) => {
                const samples = outputs.map(({ logprobs }, k) => ({ ...rows[indices[k]], logprobs }));
                const { value, gradients } = sftLoss({ samples, totals });
                loss += value;
                return gradients.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs) }));
            }, { from: rows.map(row => row.from), packing });
            return { step: { ...(await model.step(training.rates)), overflows } };
        }));
        await training.stepped({ 'loss/train': loss, ...stepMetrics(step), 'data/trained_tokens': totals.tokens }, { tokens: tokensOf(rows.map(row => row.ids)), examples: rows.length });
        await training.evaluateIfDue(evaluate);
        await training.saveIfDue();
    }
    await training.finish(evaluate);
}
/** An example from its first trained token on: the log-probabilities before it are nobody's business. */
function trainedPart({ ids, mask, where }) {
    const from = mask.indexOf(1);
    return { name: where, ids, from, mask: mask.subarray(from) };
}
/** The loss over all trained tokens of the validation data, and the perplexity that it is the logarithm of. */
export async function evaluateSft(options) {
    const { model, validation, packing, signal } = options;
    let [sum, tokens] = [0, 0];
    for await (const part of evaluationRows(validation)) {
        const rows = part.map(trainedPart);
        const sequences = rows.map(row => row.ids);
        const from = rows.map(row => row.from);
        const outputs = await namingRows(part, 1, () => model.score(sequences, { from, packing, signal }));
        for (const [i, { logprobs }] of outputs.entries())
            for (const [t, trained] of rows[i].mask.entries())
                if (trained) {
                    sum += logprobs[t];
                    tokens++;
                }
    }
    const loss = -sum / tokens;
    return { 'loss/validation': loss, 'validation/perplexity': Math.exp(loss) };
}
//# sourceMappingURL=loop.js.map