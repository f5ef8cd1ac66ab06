/** Rewards of many samples with metrics of each or of all, as LightRFT's functions give them. */
import { SourceError } from './errors.js';
/** One answer per sample; a wrong number of rewards is left for the caller to find. */
export function answersOf({ rewards, metrics = {} }, count) {
    if (typeof rewards !== 'object' || rewards === null)
        throw new SourceError('wrong-type', 'expected { rewards, metrics }, with one reward per sample');
    if (rewards.length !== count)
        return Array.from(rewards);
    return Array.from(rewards, (reward, i) => ({ reward, metrics: metricsOf(metrics, i, count) }));
}
/** A sample's own metrics. */
export function metricsOf(metrics, index, count) {
    return Object.fromEntries(Object.entries(metrics).map(([name, values]) => {
        if (typeof values === 'number')
            return [name, values];
        if (values.length !== count)
            throw new SourceError('wrong-count', `metrics.${name} has ${values.length} numbers for ${count} samples`);
        return [name, values[index]];
    }));
}
//# sourceMappingURL=aggregated.js.map