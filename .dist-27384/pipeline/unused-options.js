/** Options that were given and that no stage of the pipeline reads: said aloud, since whoever gave them expects something of them. */
import { isDeepStrictEqual } from 'node:util';
import { getDefaultConfig } from './config.js';
import { optionNames, usedNames } from './stage-configs.js';
import { wholePipeline } from './stages.js';
/**
 * Names of options whose value is not the default's, of stages that are left out or of another algorithm. Whole default configs
 * with a few changes are how programs write them, so that a default says nothing.
 *
 * @example
 * unusedOptions(resolvePipelineConfig([{ origin: 'config', values: { algorithm: 'dpo', rewardLr: 1 } }])) // ['rewardLr']
 */
export function unusedOptions(pipeline) {
    const { config } = pipeline;
    const stages = wholePipeline(config);
    const used = new Set(stages.flatMap(stage => usedNames(stage, pipeline)));
    const sections = ['sft', 'reward'].filter(name => !stages.includes(name));
    const initial = getDefaultConfig();
    const names = new Set([...Object.values(optionNames).flatMap(one => Object.keys(one)), ...sections]);
    return [...names].filter(name => {
        const key = name;
        return !used.has(name) && !isDefault(config[key], initial[key]);
    });
}
/** A path is whole by now; its default is not. */
function isDefault(value, initial) {
    if (typeof value === 'string' && typeof initial === 'string')
        return value === initial || value.endsWith(`/${initial}`);
    return isDeepStrictEqual(value, initial);
}
//# sourceMappingURL=unused-options.js.map