/** The pipeline's options as those of its trainings: each stage's config, checked by that training's own schema. */
import { join } from 'node:path';
import { InputError } from '../errors/index.js';
import { preferencePaths, preferenceSchema, resolveConfig, resolveRlConfig, rewardModelSchema, rlSchema, sftSchema, supervisedPaths, supervisedWords, } from '../train/index.js';
import { isPreferenceAlgorithm } from './config.js';
import { stageDirectory, usesRewardModel } from './stages.js';
/** Of the trainings. */
export const schemas = {
    sft: sftSchema,
    reward: rewardModelSchema,
    rl: rlSchema,
    preference: preferenceSchema,
};
const shared = {
    device: 'device',
    seed: 'seed',
    chatTemplate: 'chatTemplate',
    validationShare: 'validationShare',
    maxLength: 'maxLength',
    saveInterval: 'saveSteps',
};
/** What the options of each training are called in the pipeline's config. docs/pipeline.md has these tables. */
export const optionNames = {
    sft: {
        ...shared,
        sftDataPath: 'data',
        sftEpochs: 'epochs',
        sftLr: 'optimizer.lr',
        sftBatchSize: 'batchSize',
    },
    reward: {
        ...shared,
        rewardDataPath: 'data',
        rewardEpochs: 'epochs',
        rewardLr: 'optimizer.lr',
        rewardBatchSize: 'batchSize',
        freezeRewardBackbone: 'freezeBackbone',
    },
    rl: {
        ...shared,
        maxLength: 'promptMaxLen',
        ppoDataPath: 'data',
        ppoIterations: 'iterations',
        ppoLrPolicy: 'optimizer.lr',
        ppoLrValue: 'critic.optimizer.lr',
        ppoBatchSize: 'rolloutBatchSize',
        ppoMiniBatchSize: 'trainBatchSize',
        ppoEpochs: 'updateEpochs',
    },
    preference: {
        ...shared,
        rewardDataPath: 'data',
        rewardEpochs: 'epochs',
        ppoLrPolicy: 'optimizer.lr',
        rewardBatchSize: 'batchSize',
    },
};
/** What the pipeline sets where its config does not: the original's numbers, for what its config could not reach. */
export const stageDefaults = {
    sft: { optimizer: { weightDecay: 0.01, schedule: 'cosine' } },
    reward: { centerCoef: 0.01, optimizer: { weightDecay: 0.01, schedule: 'cosine', warmupRatio: 0.1 } },
    ppo: {
        gamma: 0.99,
        lambd: 0.95,
        entropyCoef: 0.01,
        targetKl: 0.01,
        maxNewTokens: 50,
        optimizer: { weightDecay: 0.01, maxGradNorm: 0.5 },
        critic: { optimizer: { weightDecay: 0.01, maxGradNorm: 0.5 } },
    },
    /** Other algorithms by rewards. */
    rl: { maxNewTokens: 50 },
    preference: {},
};
export function stageConfig(stage, pipeline, { model, context }) {
    const { config } = pipeline;
    const training = trainingOf(stage, config);
    const output = stageDirectory(config, stage);
    const own = config[stage];
    const { options, names } = translated(training, pipeline, context);
    refuseTwice(stage, names, pipeline);
    const fixed = fixedOptions(training, config, { model, output });
    const setHere = Object.keys(fixed).filter(name => Object.hasOwn(own, name));
    if (setHere.length > 0)
        throw new InputError(setHere.map(name => `${stage}.${name}: is set by the pipeline; leave it out`).join('\n'));
    const defaults = training === 'rl' && config.algorithm === 'ppo' ? stageDefaults.ppo : stageDefaults[training];
    const layers = [
        { origin: 'pipeline', values: defaults },
        { origin: 'pipeline options', values: options },
        ...sectionLayers(stage, pipeline),
        { origin: 'pipeline', values: fixed },
    ];
    try {
        return resolved(training, layers);
    }
    catch (error) {
        if (!(error instanceof InputError) || stage !== 'ppo')
            throw error;
        const page = { rl: 'docs/rl.md', preference: 'docs/preferences.md' }[training];
        const remedy = `With algorithm ${config.algorithm} the section ppo takes the options of ${page}.`;
        throw new InputError(error.message, { cause: error, remedy });
    }
}
/** A section of the config, by where its options come from. */
function sectionLayers(stage, { config, origins }) {
    const layers = new Map();
    for (const [path, origin] of Object.entries(origins)) {
        if (!path.startsWith(`${stage}.`))
            continue;
        const [, ...keys] = path.split('.');
        layers.set(origin, withValue(layers.get(origin) ?? {}, keys, valueAt(config[stage], keys.join('.'))));
    }
    if (layers.size === 0)
        layers.set('config', {});
    // Paths are whole already. The directory says that what is missing is missing in a file.
    return [...layers].map(([origin, values]) => ({ origin: `${origin}: ${stage}`, values, directory: process.cwd() }));
}
function resolved(training, layers) {
    switch (training) {
        case 'sft':
            return { training, ...resolveConfig(sftSchema, layers, { paths: supervisedPaths, words: supervisedWords }) };
        case 'reward':
            return {
                training,
                ...resolveConfig(rewardModelSchema, layers, { paths: supervisedPaths, words: supervisedWords }),
            };
        case 'preference':
            return {
                training,
                ...resolveConfig(preferenceSchema, layers, { paths: preferencePaths, words: supervisedWords }),
            };
        case 'rl': {
            const { config, origins } = resolveRlConfig(layers);
            return { training, config, origins };
        }
    }
}
export function trainingOf(stage, { algorithm }) {
    if (stage !== 'ppo')
        return stage;
    return isPreferenceAlgorithm(algorithm) ? 'preference' : 'rl';
}
/** The description of rewards that the pipeline writes for its own reward model. */
export function rewardsFile(config) {
    return join(stageDirectory(config, 'ppo'), 'rewards.json');
}
/** What a section cannot have otherwise: the stages would no longer fit together. */
function fixedOptions(training, config, { model, output }) {
    if (training === 'rl')
        return {
            model,
            output,
            algorithm: config.algorithm,
            ...(usesRewardModel(config) ? { rewards: rewardsFile(config) } : {}),
        };
    return { model, output, ...(training === 'preference' ? { loss: config.algorithm } : {}) };
}
/** Options of the pipeline as those of a training, and which of them count. */
function translated(training, { config, origins }, context) {
    const given = (name) => isGiven(origins, name);
    const names = namesOf(training, { config, origins });
    const values = { ...config };
    if (training === 'rl') {
        const { nSamplesPerPrompt = 1 } = config.ppo;
        if (!given('ppoMiniBatchSize'))
            values.ppoMiniBatchSize = Math.min(config.ppoMiniBatchSize, config.ppoBatchSize * Number(nSamplesPerPrompt));
    }
    const section = config[sectionOf(training)];
    const maxLength = given('maxLength') ? config.maxLength : Math.min(config.maxLength, context);
    values.maxLength = training === 'rl' ? promptLength(maxLength, section) : maxLength;
    let options = training === 'rl' ? { exportEvery: config.saveInterval } : {};
    for (const [name, path] of Object.entries(names))
        options = withValue(options, path.split('.'), values[name]);
    return { options, names };
}
/** Options of the pipeline that a stage reads. */
export function usedNames(stage, pipeline) {
    return Object.keys(namesOf(trainingOf(stage, pipeline.config), pipeline));
}
/** Those of a training that count in this pipeline. */
function namesOf(training, { config, origins }) {
    const names = { ...optionNames[training] };
    // Other algorithms are presets with answers of their own.
    if (training === 'rl' && config.algorithm !== 'ppo') {
        for (const name of ['ppoMiniBatchSize', 'ppoEpochs'])
            if (!isGiven(origins, name))
                delete names[name];
        delete names.ppoLrValue;
    }
    // Files of their own take the place of a share.
    if (config[sectionOf(training)].validationData !== undefined)
        delete names.validationShare;
    return names;
}
const sectionOf = (training) => training === 'sft' || training === 'reward' ? training : 'ppo';
/** What an answer leaves of a sequence for the prompt. */
function promptLength(maxLength, { maxNewTokens = stageDefaults.rl.maxNewTokens }) {
    const left = maxLength - Number(maxNewTokens);
    if (left < 1)
        throw new InputError(`ppo.maxNewTokens: ${maxNewTokens} leaves no room for a prompt in sequences of ${maxLength} tokens (maxLength, or the model's context)`);
    return left;
}
function withValue(options, [first, ...rest], value) {
    const inner = rest.length === 0 ? value : withValue((options[first] ?? {}), rest, value);
    return { ...options, [first]: inner };
}
const isGiven = (origins, name) => Object.entries(origins).some(([path, origin]) => origin !== 'default' && (path === name || path.startsWith(`${name}.`)));
/** An option under both of its names has two values, and nobody knows which is meant. */
function refuseTwice(stage, names, { config, origins }) {
    // These are of all stages, and a section may have its own.
    const problems = Object.entries(names)
        .filter(([name]) => !Object.hasOwn(shared, name))
        .filter(([name, path]) => isGiven(origins, name) && valueAt(config[stage], path) !== undefined)
        .map(([name, path]) => `${stage}.${path}: is what ${name} sets too; give one of them`);
    if (problems.length > 0)
        throw new InputError(problems.join('\n'));
}
function valueAt(options, path) {
    return path.split('.').reduce((value, key) => value?.[key], options);
}
//# sourceMappingURL=stage-configs.js.map