/** What the verbs that run a model have in common: the model, the engine's size, how tokens are chosen. */
import { z } from 'zod'
import { naming } from '../errors/index.js'
import {
  defaultMaxNewTokens,
  type GenerationDefaults,
  type OpenOptions,
  type SamplingParams,
} from '../rollout/index.js'
import { type Device, requireDevice, resolveDevice } from '../tensor/index.js'
import { deviceFlag } from './device-flag.js'
import { directory, flagName, integer, number, text, toggle, UsageError } from './flags.js'

export const modelFlags = z.object({
  model: directory('a Hugging Face model directory, or an id of the Hub: org/name'),
  adapter: directory('a LoRA adapter in PEFT format').optional(),
  device: deviceFlag,
})

export const engineFlags = modelFlags.extend({
  maxSequences: integer('most sequences that generate at the same time (default 128)', { min: 1 }).optional(),
  maxLength: integer('most tokens of a prompt and its response together (default: the context of the model)', {
    min: 2,
  }).optional(),
  kvCacheMb: integer('memory of the KV cache in MiB (default 1024, or less if the sequences cannot fill it)', {
    min: 1,
  }).optional(),
})

const temperature = (description: string) =>
  number({ description, placeholder: 'T', expected: 'a number of at least 0', accepts: value => value >= 0 })

const tokenId = (description: string) =>
  number({
    description,
    placeholder: 'ID',
    expected: 'a token id',
    accepts: value => Number.isSafeInteger(value) && value >= 0,
  })

/** A flag that may be repeated; it has the help of the single flag. */
export const several = <T extends z.ZodType>(flag: T) => z.array(flag).meta(flag.meta()!).default([])

const ofModel = 'generation_config.json of the model, else'

export const samplingFlags = z.object({
  maxNewTokens: integer(`most tokens of a response (default: ${ofModel} 256)`, { min: 1 }).optional(),
  minNewTokens: integer('fewest tokens of a response: no end-of-sequence or stop id before', { min: 0 }).optional(),
  temperature: temperature(
    `sampling temperature; 0: greedy decoding (default: ${ofModel} 1; in a chat 0.7)`,
  ).optional(),
  firstTemperature: temperature('temperature of the first token').optional(),
  topK: number({
    description: `sample from the K most likely tokens; -1: all (default: ${ofModel} all)`,
    placeholder: 'K',
    expected: 'an integer of at least 1, or -1',
    accepts: value => value === -1 || (Number.isSafeInteger(value) && value >= 1),
  }).optional(),
  topP: number({
    description: `nucleus sampling: sample from the most likely tokens that together have this probability (default: ${ofModel} 1)`,
    placeholder: 'P',
    expected: 'a number above 0 and at most 1',
    accepts: value => value > 0 && value <= 1,
  }).optional(),
  minP: number({
    description: `sample from tokens with at least this share of the highest probability (default: ${ofModel} 0)`,
    placeholder: 'P',
    expected: 'a number from 0 to 1',
    accepts: value => value >= 0 && value <= 1,
  }).optional(),
  seed: integer('seed of the random numbers', { min: Number.MIN_SAFE_INTEGER }).default(0),
  stop: several(text('TEXT', 'stop text: it ends a response; repeat for more')),
  stopId: several(tokenId('stop token id: it ends a response; repeat for more')),
  forbidId: several(tokenId('token id that is never sampled; repeat for more')),
  ignoreEos: toggle('do not stop at the end-of-sequence tokens of the model'),
})

export function engineOptions(flags: z.output<typeof engineFlags>): OpenOptions {
  const { device, adapter, maxSequences, maxLength, kvCacheMb } = flags
  return {
    device: resolveDevice(device),
    ...(adapter === undefined ? {} : { adapter }),
    ...(maxSequences === undefined ? {} : { maxSequences }),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(kvCacheMb === undefined ? {} : { cacheBytes: kvCacheMb * 2 ** 20 }),
  }
}

type SamplingFlags = z.output<typeof samplingFlags>

/** The parameters that the flags set, by their names; those that were left out are not there. */
export function givenSampling(flags: SamplingFlags): Omit<SamplingParams, 'seed' | 'maxNewTokens'> & {
  maxNewTokens?: number
} {
  const { maxNewTokens, minNewTokens, temperature, firstTemperature, topK, topP, minP, stop, stopId, forbidId } = flags
  const given = {
    ...{ maxNewTokens, minNewTokens, temperature, firstTemperature, topK, topP, minP },
    stop: stop.length > 0 ? stop : undefined,
    stopIds: stopId.length > 0 ? stopId : undefined,
    forbiddenIds: forbidId.length > 0 ? forbidId : undefined,
    ignoreEos: flags.ignoreEos,
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** What the flags say, else what the model says, else what is usual. */
export function samplingParams(flags: SamplingFlags, defaults: GenerationDefaults = {}): SamplingParams {
  const given = givenSampling(flags)
  const { maxNewTokens = defaultMaxNewTokens, minNewTokens = 0, ...rest } = { ...defaults, ...given }
  // What the user gave is checked; what a file has in excess is cut.
  if (minNewTokens > maxNewTokens && given.minNewTokens !== undefined)
    throw new UsageError(`--min-new-tokens: ${minNewTokens} is more than --max-new-tokens (${maxNewTokens})`)
  return { seed: flags.seed, maxNewTokens, minNewTokens: Math.min(minNewTokens, maxNewTokens), ...rest }
}

/** Flags whose name is not that of the parameter they set. */
const flagOf: Readonly<Record<string, string>> = {
  stopIds: '--stop-id',
  forbiddenIds: '--forbid-id',
}

/** An invalid parameter is a usage error and is named as its flag. */
export function asUsage<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const message = error.message.replace(/^[a-z]+[a-zA-Z]*/, name => flagOf[name] ?? flagName(name))
    throw new UsageError(message, { cause: error })
  }
}

/** The device that a flag names; asked before anything is loaded. */
export function usableDevice(flag: string): Device {
  return naming('--device', () => requireDevice(resolveDevice(flag)))
}
