/** Which samples each optimiser step of an iteration sees: drawn from (seed, iteration, pass) alone. Pure. */
import { Permutation } from '../../data/index.js';
/**
 * The updates of an iteration in their order. The critic's come first: they do not depend on the policy's, and each model is
 * brought to a device that holds only one of them once.
 */
export function planUpdates(options) {
    const { samples, updateEpochs, models } = options;
    if (samples === 0)
        return [];
    const passes = Array.from({ length: updateEpochs }, (_, epoch) => ({ epoch, batches: minibatches(options, epoch) }));
    return ['critic', 'policy']
        .filter(model => models.includes(model))
        .flatMap(model => passes.flatMap(({ epoch, batches }) => batches.map(places => ({ model, epoch, places }))));
}
/** The same of an iteration of a run. */
export function iterationPlan(config, { iteration, samples }) {
    const { trainBatchSize, updateEpochs, seed, critic } = config;
    const warmingUp = iteration < (critic?.warmupIterations ?? 0);
    const models = [...(critic ? ['critic'] : []), ...(warmingUp ? [] : ['policy'])];
    return planUpdates({ samples, trainBatchSize, updateEpochs, seed, iteration, models });
}
/** One batch of everything keeps its order; several are drawn anew in each pass. */
function minibatches({ samples, trainBatchSize, seed, iteration }, epoch) {
    const places = Array.from({ length: samples }, (_, place) => place);
    if (trainBatchSize === undefined || trainBatchSize >= samples)
        return [places];
    const order = new Permutation(samples, `minibatches ${seed} ${iteration} ${epoch}`);
    const batches = [];
    for (let start = 0; start < samples; start += trainBatchSize)
        batches.push(places.slice(start, start + trainBatchSize).map(place => order.at(place)));
    return batches;
}
//# sourceMappingURL=plan.js.map