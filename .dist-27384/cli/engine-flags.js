/** What the verbs that run a model have in common: the model, the engine's size, how tokens are chosen. */
import { z } from 'zod';
import { naming } from '../errors/index.js';
import { requireDevice, resolveDevice } from '../tensor/index.js';
import { deviceFlag } from './device-flag.js';
import { directory, flagName, integer, number, text, toggle, UsageError } from './flags.js';
export const modelFlags = z.object({
    model: directory('a Hugging Face model directory'),
    adapter: directory("a LoRA adapter in PEFT's format").optional(),
    device: deviceFlag,
});
export const engineFlags = modelFlags.extend({
    maxSequences: integer('sequences that generate at once (default 128)', { min: 1 }).optional(),
    maxLength: integer("tokens of a prompt and its response together (default: the model's context)", {
        min: 2,
    }).optional(),
    kvCacheMb: integer('memory for keys and values (default 1024, less where that is more than can be filled)', {
        min: 1,
    }).optional(),
});
const temperature = (description) => number({ description, placeholder: 'T', expected: 'a number of at least 0', accepts: value => value >= 0 });
const tokenId = (description) => number({
    description,
    placeholder: 'ID',
    expected: 'a token id',
    accepts: value => Number.isSafeInteger(value) && value >= 0,
});
/** An array of what one flag may say; its help is that of the flag. */
export const several = (flag) => z.array(flag).meta(flag.meta()).default([]);
export const samplingFlags = z.object({
    maxNewTokens: integer('tokens of a response at most', { min: 1 }).default(256),
    minNewTokens: integer('suppress end-of-sequence and stop ids before that many', { min: 0 }).default(0),
    temperature: temperature('0: always the likeliest token').default(1),
    firstTemperature: temperature("the first token's own temperature").optional(),
    topK: number({
        description: 'only the K likeliest tokens; -1: all',
        placeholder: 'K',
        expected: 'an integer of at least 1, or -1',
        accepts: value => value === -1 || (Number.isSafeInteger(value) && value >= 1),
    }).default(-1),
    topP: number({
        description: 'only the likeliest tokens that together have this probability',
        placeholder: 'P',
        expected: 'a number above 0 and at most 1',
        accepts: value => value > 0 && value <= 1,
    }).default(1),
    minP: number({
        description: 'only tokens at least this share as likely as the likeliest',
        placeholder: 'P',
        expected: 'a number from 0 to 1',
        accepts: value => value >= 0 && value <= 1,
    }).default(0),
    seed: integer('of the random numbers', { min: Number.MIN_SAFE_INTEGER }).default(0),
    stop: several(text('TEXT', 'end a response at this text; several times for several')),
    stopId: several(tokenId('end a response with this token; several times for several')),
    forbidId: several(tokenId('never sample this token; several times for several')),
    ignoreEos: toggle("the model's own end-of-sequence tokens do not end a response"),
});
export function engineOptions(flags) {
    const { device, adapter, maxSequences, maxLength, kvCacheMb } = flags;
    return {
        device: resolveDevice(device),
        ...(adapter === undefined ? {} : { adapter }),
        ...(maxSequences === undefined ? {} : { maxSequences }),
        ...(maxLength === undefined ? {} : { maxLength }),
        ...(kvCacheMb === undefined ? {} : { cacheBytes: kvCacheMb * 2 ** 20 }),
    };
}
export function samplingParams(flags) {
    const { seed, maxNewTokens, minNewTokens, temperature, firstTemperature, topK, topP, minP, stop } = flags;
    if (minNewTokens > maxNewTokens)
        throw new UsageError(`--min-new-tokens: ${minNewTokens} is more than --max-new-tokens (${maxNewTokens})`);
    return {
        ...{ seed, maxNewTokens, minNewTokens, temperature, topK, topP, minP, stop },
        ...(firstTemperature === undefined ? {} : { firstTemperature }),
        stopIds: flags.stopId,
        forbiddenIds: flags.forbidId,
        ignoreEos: flags.ignoreEos === true,
    };
}
/** Flags whose name is not that of the parameter they set. */
const flagOf = {
    stopIds: '--stop-id',
    forbiddenIds: '--forbid-id',
};
/** A parameter that means nothing to this model is the command line's mistake, and is named as it was typed. */
export function asUsage(work) {
    try {
        return work();
    }
    catch (error) {
        if (!(error instanceof RangeError))
            throw error;
        const message = error.message.replace(/^[a-z]+[a-zA-Z]*/, name => flagOf[name] ?? flagName(name));
        throw new UsageError(message, { cause: error });
    }
}
/** The device that a flag names; asked before anything is loaded. */
export function usableDevice(flag) {
    return naming('--device', () => requireDevice(resolveDevice(flag)));
}
//# sourceMappingURL=engine-flags.js.map