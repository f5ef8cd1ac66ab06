/** What the verbs that generate have in common: the model, the engine's size, how tokens are chosen. */
import type { OpenOptions, SamplingParams } from '../rollout/index.js'
import type { Device } from '../tensor/index.js'
import { UsageError } from './usage.js'

export const engineFlags = {
  model: { type: 'string' },
  adapter: { type: 'string' },
  device: { type: 'string', default: 'cpu' },
  'max-sequences': { type: 'string' },
  'max-length': { type: 'string' },
  'kv-cache-mb': { type: 'string' },
} as const

export const engineHelp = `  --model DIR             a Hugging Face model directory
  --adapter DIR           a LoRA adapter in PEFT's format
  --device DEVICE         cpu (default), cuda or cuda:N
  --max-sequences N       sequences that generate at once (default 128)
  --max-length N          tokens of a prompt and its response together (default: the model's context)
  --kv-cache-mb N         memory for keys and values (default 1024, less where that is more than can be filled)`

export const samplingFlags = {
  'max-new-tokens': { type: 'string' },
  'min-new-tokens': { type: 'string' },
  temperature: { type: 'string' },
  'first-temperature': { type: 'string' },
  'top-p': { type: 'string' },
  'top-k': { type: 'string' },
  'min-p': { type: 'string' },
  seed: { type: 'string' },
  stop: { type: 'string', multiple: true },
  'stop-id': { type: 'string', multiple: true },
  'forbid-id': { type: 'string', multiple: true },
  'ignore-eos': { type: 'boolean' },
} as const

export const samplingHelp = `  --max-new-tokens N      tokens of a response at most (default 256)
  --min-new-tokens N      suppress end-of-sequence and stop ids before that many (default 0)
  --temperature T         0: always the likeliest token (default 1)
  --first-temperature T   the first token's own temperature
  --top-k K               only the K likeliest tokens (default -1: all)
  --top-p P               only the likeliest tokens that together have this probability (default 1)
  --min-p P               only tokens at least this share as likely as the likeliest (default 0)
  --seed S                of the random numbers (default 0)
  --stop TEXT             end a response at this text; several times for several
  --stop-id ID            end a response with this token; several times for several
  --forbid-id ID          never sample this token; several times for several
  --ignore-eos            the model's own end-of-sequence tokens do not end a response`

type Values = Partial<Record<string, string | boolean | (string | boolean)[]>>

/** A number of the command line, checked as text: `Number('')` is 0. */
export function numberFlag(values: Values, name: string): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  return toNumber(`--${name}`, text as string)
}

function toNumber(name: string, text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) throw new UsageError(`${name}: expected a number, got "${text}"`)
  return value
}

export function countFlag(values: Values, name: string, least = 1): number | undefined {
  const value = numberFlag(values, name)
  if (value !== undefined && (!Number.isSafeInteger(value) || value < least))
    throw new UsageError(`--${name}: expected an integer of at least ${least}, got ${value}`)
  return value
}

export function engineOptions(values: Values): { model: string; options: OpenOptions } {
  const { model, adapter, device } = values as Record<string, string | undefined>
  if (!model) throw new UsageError('--model: expected a directory')
  if (!/^(cpu|cuda(:\d{1,3})?)$/.test(device ?? 'cpu'))
    throw new UsageError(`--device: expected cpu, cuda or cuda:N, got "${device}"`)
  const maxSequences = countFlag(values, 'max-sequences')
  const maxLength = countFlag(values, 'max-length', 2)
  const megabytes = countFlag(values, 'kv-cache-mb')
  return {
    model,
    options: {
      device: (device ?? 'cpu') as Device,
      ...(adapter === undefined ? {} : { adapter }),
      ...(maxSequences === undefined ? {} : { maxSequences }),
      ...(maxLength === undefined ? {} : { maxLength }),
      ...(megabytes === undefined ? {} : { cacheBytes: megabytes * 2 ** 20 }),
    },
  }
}

export function samplingParams(values: Values): SamplingParams {
  const params: SamplingParams = {
    seed: numberFlag(values, 'seed') ?? 0,
    maxNewTokens: countFlag(values, 'max-new-tokens') ?? 256,
  }
  const numbers = {
    minNewTokens: 'min-new-tokens',
    temperature: 'temperature',
    firstTemperature: 'first-temperature',
    topP: 'top-p',
    topK: 'top-k',
    minP: 'min-p',
  } as const
  for (const [key, name] of Object.entries(numbers)) {
    const value = numberFlag(values, name)
    if (value !== undefined) params[key as keyof typeof numbers] = value
  }
  const ids = (name: string): number[] => ((values[name] ?? []) as string[]).map(text => toNumber(`--${name}`, text))
  params.stopIds = ids('stop-id')
  params.forbiddenIds = ids('forbid-id')
  params.stop = (values.stop ?? []) as string[]
  params.ignoreEos = values['ignore-eos'] === true
  return params
}

/** A parameter that means nothing is the command line's mistake. */
export function asUsage<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}
