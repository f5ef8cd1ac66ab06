/** Options that were given and that other options leave without effect. A config that has one is used, and the person is told. */
import { estimatorTraits } from '../../experience/index.js';
/**
 * A line for each, with the layer that gave it. What a preset sets, or nobody, is no mistake of the config's.
 *
 * @example
 * const rules = [{ options: ['seed'], why: ({ greedy }: { greedy: boolean }) => (greedy ? 'greedy draws nothing' : undefined) }]
 * idleOptions({ config: { greedy: true }, origins: { seed: 'a.yaml' } }, rules) // a.yaml: seed has no effect: greedy draws nothing
 */
export function idleOptions({ config, origins }, rules) {
    return rules.flatMap(({ options, why }) => {
        const reason = why(config);
        if (reason === undefined)
            return [];
        return options.flatMap(option => {
            const origin = givenBy(option, origins);
            return origin === undefined ? [] : [`${origin}: ${option} has no effect: ${reason}`];
        });
    });
}
function givenBy(option, origins) {
    const found = Object.entries(origins).find(([path, origin]) => (path === option || path.startsWith(`${option}.`)) && origin !== 'default' && !origin.startsWith('preset '));
    return found?.[1];
}
const where = (condition, reason) => (condition ? reason : undefined);
/** Of an optimiser in a section of the config. */
export function optimizerIdle(section, optimizerOf) {
    return {
        options: [`${section}.minLrRatio`],
        why: config => where(optimizerOf(config)?.schedule === 'constant', `${section}.schedule is constant`),
    };
}
/** Of options that are about held-out rows. */
export function validationIdle(options) {
    return {
        options,
        why: ({ validationData, validationShare }) => where(validationData === undefined && validationShare === 0, 'nothing is held out; give validationData or validationShare'),
    };
}
/** Of the options that experience generation has. */
export const experienceIdle = [
    {
        options: ['lambd'],
        why: ({ advantageEstimator: name }) => where(estimatorTraits(name).values === 'unused', `it is an option of gae, and the estimator is ${name}`),
    },
    {
        options: ['gamma'],
        why: ({ advantageEstimator: name, gamma }) => where(estimatorTraits(name).gamma === 'one' && gamma !== 1, `${name} always uses 1`),
    },
    { options: ['firstTokenTemperature'], why: ({ useFire }) => where(!useFire, 'useFire is off') },
    {
        options: ['overlongBufferLen', 'overlongBufferPenaltyFactor'],
        why: ({ overlongBuffer }) => where(!overlongBuffer, 'overlongBuffer is off'),
    },
    { options: ['maxResampleRounds'], why: ({ dynamicSampling }) => where(!dynamicSampling, 'dynamicSampling is off') },
];
//# sourceMappingURL=idle-options.js.map