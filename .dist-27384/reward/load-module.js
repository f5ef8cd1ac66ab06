/** Rewards in a module: TypeScript or JavaScript, as it is. Runs in the process of the file. */
import { access, readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { RewardConfigError } from './errors.js';
import { sampleReward } from './function-source.js';
/** Exports that are options of the engine under their own names. */
const optionNames = [
    'sources',
    'rewardModel',
    'remoteRmUrl',
    'customRewardFunc',
    'rewardFn',
    'rewardFnLabelMap',
    'rewardRecipe',
    'weights',
];
const forms = `a default export that is a function of one sample, a source such as defineReward(...), a RewardComputationEngine or its options; or exports named ${optionNames.join(', ')}`;
export async function loadFile(file, { tokenizer } = {}) {
    await access(file).catch(cause => {
        throw new RewardConfigError('there is no such file', { cause });
    });
    const exports = await importModule(file);
    const { default: main } = exports;
    if (main !== undefined)
        return recognise(main, tokenizer);
    const options = Object.fromEntries(optionNames.flatMap(name => (exports[name] === undefined ? [] : [[name, exports[name]]])));
    if (Object.keys(options).length > 0)
        return resolved(options, tokenizer);
    throw new RewardConfigError(`no reward in it: expected ${forms}`);
}
/** This package is found from wherever the module lies, and it is this very one: its classes are known here. */
async function importModule(file) {
    const own = await ownModules(file);
    // Node loads it faster, where there is nothing to compile and nothing of ours to find.
    if (file.endsWith('.mjs') && !own)
        return import(pathToFileURL(file).href);
    const { createJiti } = await import('jiti');
    const jiti = createJiti(import.meta.url, {
        // A compiled copy of somebody's file is nothing to leave behind.
        fsCache: false,
        interopDefault: false,
        virtualModules: own ?? {},
    });
    return jiti.import(file);
}
/** To load them takes longer than most rewards: a file that imports nothing of them, and no other file, does without. */
async function ownModules(file) {
    if (!/whetstone\/|zod|['"`]\.{0,2}\//.test(await readFile(file, 'utf8')))
        return undefined;
    const [reward, data, text, zod] = await Promise.all([
        import('./library.js'),
        import('../data/index.js'),
        import('../text/index.js'),
        import('zod'),
    ]);
    return { 'whetstone/reward': reward, 'whetstone/data': data, 'whetstone/text': text, zod };
}
function recognise(value, tokenizer) {
    if (typeof value === 'function') {
        const fn = value;
        return single(sampleReward(fn, { name: /^_?default$|^$/.test(fn.name) ? 'reward' : fn.name }));
    }
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
        if ('score' in value && 'limits' in value)
            return single(value);
        // An engine: what it was made of.
        const options = 'compute' in value ? value.options : value;
        return resolved(options, tokenizer);
    }
    throw new RewardConfigError(`its default export is no reward: expected ${forms}`);
}
function single(source) {
    const description = { form: 'source', sources: [describe(source)], aggregates: false, events: [] };
    return { description, sources: [source], events: {} };
}
async function resolved(given, tokenizer) {
    const [{ resolveRewards }, { aggregatorSource }] = await Promise.all([
        import('./engine-options.js'),
        import('./aggregator.js'),
    ]);
    const options = given.rewardModel === undefined || given.tokenizer !== undefined || tokenizer === undefined
        ? given
        : { ...given, tokenizer: await (await import('../text/index.js')).Tokenizer.load(tokenizer) };
    const { sources, combination } = resolveRewards(options);
    const { weights, rewardRecipe, onRewardFailure, failureRetries, patienceMinutes, blockedMs } = options;
    const plain = { weights, rewardRecipe, onRewardFailure, failureRetries, patienceMinutes, blockedMs };
    const { onLate, onBlocked, onAway } = options;
    const events = defined({ onLate, onBlocked, onAway });
    const all = [...sources];
    if (combination.kind === 'aggregator')
        all.push(aggregatorSource(combination.rewardFn, combination.labelMap));
    return {
        description: {
            form: 'several',
            sources: sources.map(describe),
            aggregates: combination.kind === 'aggregator',
            events: Object.keys(events),
            ...defined(plain),
        },
        sources: all,
        events,
    };
}
function describe({ name, kind, limits, model, needsReference = false }) {
    return { name, kind, limits: { ...limits }, needsReference, asksModel: model !== undefined };
}
function defined(values) {
    return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
//# sourceMappingURL=load-module.js.map