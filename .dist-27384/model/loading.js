/** How a model is made: its options, their defaults, and the parts a checkpoint may not have. */
import { join } from 'node:path';
import { parameterCount, readConfig, weightMap, } from '../decoder/index.js';
import { adamWRates, Checkpoint, noGrad, RandomGenerator, randn, requireDevice, scope, zeros, } from '../tensor/index.js';
import { Adapter, adapterWeightsFile } from './adapter.js';
import { ModelError } from './errors.js';
import { fitToCheckpoint, refuseTooLarge } from './fit-checkpoint.js';
import { sourcesWithMoreBits } from './masters.js';
import { roles } from './outputs.js';
import { checkWeights, initializeWeights, readWeights } from './weights.js';
/** What a checkpoint of another head may lack, and what it may have that a model has no place for. */
export const tolerated = ({ head }) => ({
    optional: (name) => name === 'score.weight' && head === 'language',
    // A tied or replaced output matrix, and frequencies that old checkpoints carry, have no place here.
    ignored: (name) => name === 'lm_head.weight' || name.endsWith('.rotary_emb.inv_freq'),
});
/** The config of a model directory as its checkpoint bears it out, and the role that it is to have. */
async function readShape(directory, wanted) {
    checkRole(wanted);
    const config = await fitToCheckpoint(directory, await readConfig(directory));
    const role = wanted ?? (config.head === 'language' ? 'language' : 'reward');
    if (role === 'language' && config.head === 'score')
        throw new ModelError(`${directory} holds a reward model, which has no logits`);
    return { config, role, weights: weightMap(config.decoder, headOf(role)) };
}
/**
 * What a model directory holds, by `config.json` and the headers of its weights: whatever would keep it from being loaded in
 * that role is an error, and no weight is read.
 *
 * @example
 * const { config, parameters } = await inspectModel('models/qwen', { role: 'reward' })
 */
export async function inspectModel(directory, options = {}) {
    const { config, role, weights } = await readShape(directory, options.role);
    const checkpoint = await Checkpoint.open(directory);
    try {
        checkWeights(directory, checkpoint, weights, tolerated(config));
    }
    finally {
        await checkpoint.close();
    }
    return { config, role, parameters: parameterCount(weights) };
}
/** From a Hugging Face model directory. */
export async function readModel(directory, options) {
    const { config, role, weights } = await readShape(directory, options.role);
    const settings = settingsOf(options);
    const version = checkVersion(options.version ?? 0);
    refuseNothingToTrain(role, config, settings);
    const { tensors, missing } = await readWeights(directory, weights, {
        ...settings,
        ...tolerated(config),
        ...(options.signal ? { signal: options.signal } : {}),
        ...(options.onProgress ? { onProgress: options.onProgress } : {}),
    });
    if (missing.has('score.weight'))
        initializeHead(role, tensors.get('score.weight'), config, options.seed ?? 0);
    const adapter = await openAdapter(options.adapter, config, settings, tensors);
    const read = [directory, ...(typeof options.adapter === 'string' ? [join(options.adapter, adapterWeightsFile)] : [])];
    const masterSources = await sourcesWithMoreBits(read, settings.dtype);
    const { texts = directory } = options;
    return { role, config, tensors, adapter, settings, version, source: directory, texts, masterSources };
}
/** With random weights. */
export async function randomModel(config, options) {
    const { role, seed } = options;
    checkRole(role);
    const settings = settingsOf(options);
    const version = checkVersion(options.version ?? 0);
    refuseNothingToTrain(role, config, settings);
    const weights = weightMap(config.decoder, headOf(role));
    refuseTooLarge(parameterCount(weights), settings);
    const tensors = await initializeWeights(weights, config.decoder, { ...settings, seed });
    const adapter = await openAdapter(options.adapter, config, settings, tensors);
    return {
        role,
        config,
        tensors,
        adapter,
        settings,
        version,
        source: undefined,
        texts: options.texts,
        masterSources: [],
    };
}
function checkRole(role) {
    if (role !== undefined && !roles.includes(role))
        throw new RangeError(`a role is one of ${roles.join(', ')}, got ${JSON.stringify(role)}`);
}
function checkTokenBudget(tokenBudget) {
    if (!(tokenBudget > 0))
        throw new RangeError(`tokenBudget is a positive number of rows, got ${tokenBudget}`);
    return tokenBudget;
}
function checkOptimizer(optimizer) {
    const { masters = 'dither', ...rates } = optimizer;
    adamWRates({ ...rates, lr: 0 });
    if (masters !== 'dither' && masters !== 'exact')
        throw new RangeError(`masters is dither or exact, got ${JSON.stringify(masters)}`);
    return optimizer;
}
function checkSeed(seed) {
    if (!Number.isSafeInteger(seed))
        throw new RangeError(`a seed is an integer, got ${seed}`);
    return seed;
}
function checkVersion(version) {
    if (!Number.isSafeInteger(version) || version < 0)
        throw new RangeError(`a version counts optimiser steps, got ${version}`);
    return version;
}
export function headOf(role) {
    return role === 'language' ? 'language' : 'score';
}
/** An adapter leaves the weights alone, except a head of one number, which no language model comes with. */
export function trains(name, role, adapter, { freezeBackbone }) {
    if (name === 'score.weight')
        return true;
    if (adapter)
        return false;
    return !freezeBackbone || (role === 'language' && name === 'lm_head.weight');
}
function refuseNothingToTrain(role, { decoder }, { freezeBackbone }) {
    if (freezeBackbone && role === 'language' && decoder.tiedEmbeddings)
        throw new ModelError('freezeBackbone leaves nothing to train: the output matrix is the embedding (tie_word_embeddings)');
}
function settingsOf(options) {
    const device = requireDevice(options.device ?? 'cpu');
    return {
        device,
        dtype: options.dtype ?? (device === 'cpu' ? 'float32' : 'bfloat16'),
        tokenBudget: checkTokenBudget(options.tokenBudget ?? (device === 'cpu' ? 2048 : 32768)),
        gradientCheckpointing: options.gradientCheckpointing ?? false,
        residualDtype: options.residualDtype ?? 'weights',
        freezeBackbone: options.freezeBackbone ?? false,
        optimizer: checkOptimizer(options.optimizer ?? {}),
        seed: checkSeed(options.seed ?? 0),
    };
}
async function openAdapter(adapter, config, settings, tensors) {
    if (adapter === undefined)
        return undefined;
    try {
        if (typeof adapter === 'object')
            return Adapter.create(config.decoder, { ...settings, ...adapter });
        return await Adapter.load(adapter, config.decoder, { ...settings, head: tensors.get('score.weight') });
    }
    catch (error) {
        for (const tensor of tensors.values())
            tensor.dispose();
        throw error;
    }
}
/** A critic starts at zero everywhere, so that its first values mislead no advantage; a reward model as transformers starts one. */
function initializeHead(role, head, config, seed) {
    scope(() => noGrad(() => {
        if (role === 'value')
            head.copy_(zeros(head.shape));
        else
            head.copy_(seeded(head.shape, config.decoder.initRange, seed));
    }));
}
function seeded(shape, scale, seed) {
    const generator = new RandomGenerator({ seed });
    try {
        return randn(shape, { generator }).mul(scale);
    }
    finally {
        generator.dispose();
    }
}
//# sourceMappingURL=loading.js.map