/** What a reward engine is made of, checked together before anything is asked. */
import { z } from 'zod';
import { schemaProblems } from '../errors/index.js';
import { RewardConfigError } from './errors.js';
import { customReward } from './function-source.js';
import { modelReward } from './model-source.js';
import { checkNames, checkRecipe, checkWeights, recipeSchema, weightsSchema } from './recipe.js';
import { remoteReward } from './remote/remote-source.js';
import { plainRules } from './rules/index.js';
const isFunction = (what) => z.custom(value => typeof value === 'function', { error: `expected ${what}` });
const anything = () => z.custom(value => value !== undefined);
const optionShape = {
    sources: z.array(z.custom(value => typeof value === 'object' && value !== null && 'score' in value && 'limits' in value && 'name' in value, { error: 'expected a reward source, such as sampleReward(fn) or remoteReward({ ... })' })),
    rewardModel: anything(),
    tokenizer: anything(),
    remoteRmUrl: z.union([z.string(), z.array(z.string()), z.record(z.string(), z.string())], {
        error: 'expected a URL, a list of URLs, or URLs by name',
    }),
    customRewardFunc: isFunction('a function (queries, prompts, labels) => rewards'),
    rewardFn: isFunction('a function (modelRewardList, labels, queries, refs, labelMap) => { rewards, metrics }'),
    rewardFnLabelMap: z.record(z.string(), z.int().min(0)),
    rewardRecipe: recipeSchema,
    weights: weightsSchema,
    onRewardFailure: z.enum(['drop', 'stop', 'retry']),
    failureRetries: z.int().min(0),
    patienceMinutes: z.number().min(0),
    blockedMs: z.number().positive(),
    onLate: isFunction('a function'),
    onBlocked: isFunction('a function'),
    onAway: isFunction('a function'),
};
const optionSchema = z.strictObject(optionShape).partial();
/** The options there are, for whoever takes them among others. */
export const rewardOptionNames = Object.keys(optionShape);
export function resolveRewards(options) {
    const result = optionSchema.safeParse(options);
    if (!result.success)
        throw new RewardConfigError(`rewards: ${schemaProblems(result.error, { known: rewardOptionNames }).join('; ')}`);
    const given = collectSources(options);
    const sources = [...given, ...rulesNamedIn(options.rewardRecipe, given)];
    checkNames(sources);
    if (sources.length === 0 && !options.rewardFn)
        throw new RewardConfigError('no reward: give a source, rewardModel, remoteRmUrl, customRewardFunc or rewardFn');
    if (options.rewardRecipe)
        checkRecipe(options.rewardRecipe, sources);
    return {
        sources,
        combination: combinationOf(options, sources),
        onRewardFailure: options.onRewardFailure ?? 'drop',
        failureRetries: options.failureRetries ?? 2,
        patienceMinutes: options.patienceMinutes ?? 0,
        blockedMs: options.blockedMs ?? 50,
    };
}
function combinationOf(options, sources) {
    const { rewardFn, rewardRecipe, weights } = options;
    if (weights && (rewardFn || rewardRecipe))
        throw new RewardConfigError(`weights and ${rewardFn ? 'rewardFn' : 'rewardRecipe'} exclude each other; give one`);
    if (rewardFn) {
        // Sources stand in the places the given map says, and rules that only the recipe names after them.
        const labelMap = Object.fromEntries(sources.map(({ name }, i) => [name, i]));
        return { kind: 'aggregator', rewardFn, labelMap, recipe: rewardRecipe };
    }
    if (rewardRecipe)
        return { kind: 'recipe', recipe: rewardRecipe };
    if (weights) {
        checkWeights(weights, sources);
        return { kind: 'weights', weights: new Map(Object.entries(weights)) };
    }
    if (sources.length > 1)
        throw new RewardConfigError(`${sources.length} reward sources (${sources.map(({ name }) => name).join(', ')}) need weights, a rewardRecipe, or a rewardFn that makes one reward of them`);
    return { kind: 'weights', weights: new Map([[sources[0].name, 1]]) };
}
/** In the order `rewardFnLabelMap` counts them. */
function collectSources(options) {
    const { rewardModel, remoteRmUrl, customRewardFunc, sources = [], tokenizer } = options;
    const makers = [
        ...named(rewardModel, 'rewardModel', value => 'model' in value).map(({ value, ...rest }) => ({
            ...rest,
            make: (name) => modelReward({ ...value, name, ...(tokenizer === undefined ? {} : { policyTokenizer: tokenizer }) }),
        })),
        ...named(remoteRmUrl, 'remoteRm', value => typeof value === 'string').map(({ value: url, ...rest }) => ({
            ...rest,
            make: (name) => remoteReward({ name, url }),
        })),
        ...(customRewardFunc
            ? [
                {
                    name: undefined,
                    usual: 'customRewardFunc',
                    make: (name) => customReward(customRewardFunc, { name }),
                },
            ]
            : []),
        ...sources.map(source => ({ name: source.name, usual: source.name, make: () => source })),
    ];
    const places = placesOf(options.rewardFnLabelMap, makers.length);
    return makers.map(({ name, usual, make }, place) => {
        const mapped = places.get(place);
        if (name !== undefined && mapped !== undefined && name !== mapped)
            throw new RewardConfigError(`rewardFnLabelMap: place ${place} is "${mapped}" there, and the source is called "${name}"`);
        return make(name ?? mapped ?? usual);
    });
}
function named(given, usual, isOne) {
    if (given === undefined)
        return [];
    if (Array.isArray(given))
        return given.map((value, i) => ({ name: undefined, usual: `${usual}${i}`, value }));
    if (isOne(given))
        return [{ name: undefined, usual, value: given }];
    return Object.entries(given).map(([name, value]) => ({ name, usual, value }));
}
/** Names by place, each place once and none left out. */
function placesOf(labelMap, count) {
    if (!labelMap)
        return new Map();
    const places = new Map(Object.entries(labelMap).map(([name, place]) => [place, name]));
    const entries = Object.keys(labelMap).length;
    if (entries !== count || places.size !== count || [...places.keys()].some(place => place >= count))
        throw new RewardConfigError(`rewardFnLabelMap: ${entries} names for ${count} reward sources; give each place from 0 to ${count - 1} one name`);
    return places;
}
function rulesNamedIn(recipe, sources) {
    const names = new Set(Object.values(recipe ?? {})
        .flat()
        .filter(([kind]) => kind === 'rule')
        .map(([, name]) => name));
    return [...names].flatMap(name => !sources.some(source => source.name === name) && Object.hasOwn(plainRules, name) ? [plainRules[name]()] : []);
}
//# sourceMappingURL=engine-options.js.map