/** How the maker of a model wants it to be sampled: `generation_config.json` of its directory. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '../errors/index.js'
import type { SamplingParams } from './sampling.js'

/** The parameters that the file may set. What ends a response (`eos_token_id`) is the tokenizer's to read. */
export type GenerationDefaults = Readonly<
  Partial<Pick<SamplingParams, 'temperature' | 'topK' | 'topP' | 'minP' | 'minNewTokens' | 'stop' | 'forbiddenIds'>>
> & { readonly maxNewTokens?: number }

export interface GenerationConfig {
  readonly defaults: GenerationDefaults
  /** Fields of the file that change sampling and that no engine of ours has, as `repetition_penalty 1.1`. */
  readonly unsupported: readonly string[]
}

interface Field {
  readonly name: string
  readonly expected: string
  readonly accepts: (value: unknown) => boolean
  readonly take: (value: never) => GenerationDefaults
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const isCount = (value: unknown, least: number): boolean => Number.isSafeInteger(value) && (value as number) >= least
const isList = (value: unknown, holds: (one: unknown) => boolean): boolean => Array.isArray(value) && value.every(holds)

const field = <T>(
  name: string,
  expected: string,
  accepts: (value: unknown) => boolean,
  take: (value: T) => GenerationDefaults,
): Field => ({ name, expected, accepts, take: take as Field['take'] })

const fields: readonly Field[] = [
  field<number>(
    'temperature',
    'a number of at least 0',
    value => isNumber(value) && value >= 0,
    temperature => ({ temperature }),
  ),
  // 0 stands for all tokens.
  field<number>(
    'top_k',
    'an integer of at least 0, or -1',
    value => isCount(value, -1),
    topK => ({ topK: topK === 0 ? -1 : topK }),
  ),
  field<number>(
    'top_p',
    'a number above 0 and at most 1',
    value => isNumber(value) && value > 0 && value <= 1,
    topP => ({ topP }),
  ),
  field<number>(
    'min_p',
    'a number from 0 to 1',
    value => isNumber(value) && value >= 0 && value <= 1,
    minP => ({ minP }),
  ),
  field<number>(
    'max_new_tokens',
    'a positive integer',
    value => isCount(value, 1),
    maxNewTokens => ({ maxNewTokens }),
  ),
  field<number>(
    'min_new_tokens',
    'an integer of at least 0',
    value => isCount(value, 0),
    minNewTokens => ({ minNewTokens }),
  ),
  field<string | string[]>(
    'stop_strings',
    'a text or a list of texts',
    value => typeof value === 'string' || isList(value, one => typeof one === 'string'),
    stop => ({ stop: [stop].flat().filter(one => one !== '') }),
  ),
  field<number[]>(
    'suppress_tokens',
    'a list of token ids',
    value => isList(value, one => isCount(one, 0)),
    forbiddenIds => ({ forbiddenIds }),
  ),
]

/** Fields that change what is sampled and that we have no parameter for, each with the values that change nothing. */
const others: Readonly<Record<string, readonly unknown[]>> = {
  repetition_penalty: [1],
  encoder_repetition_penalty: [1],
  no_repeat_ngram_size: [0],
  encoder_no_repeat_ngram_size: [0],
  typical_p: [1],
  epsilon_cutoff: [0],
  eta_cutoff: [0],
  top_h: [],
  penalty_alpha: [0],
  guidance_scale: [1],
  num_beams: [1],
  num_beam_groups: [1],
  diversity_penalty: [0],
  bad_words_ids: [],
  force_words_ids: [],
  constraints: [],
  sequence_bias: [],
  begin_suppress_tokens: [],
  forced_bos_token_id: [],
  forced_eos_token_id: [],
  forced_decoder_ids: [],
  exponential_decay_length_penalty: [],
  watermarking_config: [],
  dola_layers: [],
}

/** Of a response, where neither the user nor the model says. */
export const defaultMaxNewTokens = 256

const fileName = 'generation_config.json'

/**
 * What the file of a model directory says; nothing where there is none.
 *
 * @example
 * const { defaults } = await readGenerationConfig('models/qwen')
 * console.log(defaults.temperature)
 */
export async function readGenerationConfig(directory: string): Promise<GenerationConfig> {
  const path = join(directory, fileName)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return '{}'
    throw error
  })
  return generationConfigOf(parsed(text, path), path)
}

function parsed(text: string, path: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch (cause) {
    throw new InputError(`${path}: not JSON`, { cause })
  }
  throw new InputError(`${path}: expected an object`)
}

function generationConfigOf(file: Readonly<Record<string, unknown>>, path: string): GenerationConfig {
  let defaults: GenerationDefaults = {}
  for (const { name, expected, accepts, take } of fields) {
    const value = file[name]
    if (value === undefined || value === null) continue
    if (!accepts(value))
      throw new InputError(`${path}: ${name} should be ${expected}, got ${JSON.stringify(value)}`, {
        remedy: 'Correct the file, or remove the field.',
      })
    defaults = { ...defaults, ...take(value as never) }
  }
  // Without it, or with true, tokens are drawn; the file says false where the model should be greedy.
  if (file.do_sample === false) defaults = { ...defaults, temperature: 0 }
  const unsupported = Object.entries(others).flatMap(([name, neutral]) => {
    const value = file[name]
    return value === undefined || value === null || neutral.includes(value) ? [] : [`${name} ${shown(value)}`]
  })
  return { defaults, unsupported }
}

const shown = (value: unknown): string => (typeof value === 'object' ? '...' : String(value))

/** Names of flags and request fields as the file has them. */
const fileNames: Readonly<Record<keyof GenerationDefaults, string>> = {
  temperature: 'temperature',
  topK: 'top_k',
  topP: 'top_p',
  minP: 'min_p',
  maxNewTokens: 'max_new_tokens',
  minNewTokens: 'min_new_tokens',
  stop: 'stop_strings',
  forbiddenIds: 'suppress_tokens',
}

/** What was taken from the file and what was not, for people: a line each, or none. `given` is what the user set instead. */
export function generationConfigLines(
  { defaults, unsupported }: GenerationConfig,
  given: Readonly<Record<string, unknown>> = {},
): string[] {
  const taken = Object.entries(defaults)
    .filter(([name]) => given[name] === undefined)
    .map(([name, value]) => {
      const text = Array.isArray(value) ? JSON.stringify(value) : String(value)
      const greedy = name === 'temperature' && value === 0 ? ' (greedy)' : ''
      return `${fileNames[name as keyof GenerationDefaults]} ${text}${greedy}`
    })
  return [
    ...(taken.length === 0 ? [] : [`From ${fileName}: ${taken.join(', ')}.`]),
    ...(unsupported.length === 0
      ? []
      : [
          `Not supported, and ignored, of ${fileName}: ${unsupported.join(', ')}. Answers may differ from other programs.`,
        ]),
  ]
}
