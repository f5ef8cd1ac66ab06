/** Reads `adapter_config.json` of PEFT strictly: unsupported options that change the numbers are errors. */
import { z } from 'zod'
import { type Projection, projections } from '../decoder/index.js'
import { ModelError } from './errors.js'

export interface AdapterOptions {
  rank: number
  alpha: number
  /** Of the adapter's input, while training. */
  dropout: number
  targets: readonly Projection[]
}

interface AdapterConfig {
  options: AdapterOptions
  /** What the product of the two matrices is multiplied with. */
  scale: number
  /** The file as it was, for writing it again. */
  raw: Readonly<Record<string, unknown>>
}

const shown = (value: unknown): string => JSON.stringify(value) ?? 'nothing'

/** A value that passes the test, or a message about it. */
const value = <T>(test: (value: unknown) => boolean, message: (shown: string) => string) =>
  z.custom<T>(test, { error: ({ input }) => message(shown(input)) })

/** A field that must be absent, null, false or empty. */
const unused = (message: string) =>
  value<unknown>(
    given => given == null || given === false || (typeof given === 'object' && Object.keys(given).length === 0),
    () => message,
  ).optional()

const unusedFields = [
  ...['use_dora', 'use_qalora', 'fan_in_fan_out', 'rank_pattern', 'alpha_pattern', 'layers_to_transform'],
  ...['layer_replication', 'trainable_token_indices', 'target_parameters'],
  ...['alora_invocation_tokens', 'arrow_config'],
]

/** The modules of a vision tower, as a pattern of PEFT. */
export const towerModules = '.*visual.*'

const number = (field: string, test: (given: number) => boolean, expected: string) =>
  value<number>(
    given => typeof given === 'number' && Number.isFinite(given) && test(given),
    given => `${field} should be ${expected}, got ${given}`,
  )

/** Why an adapter cannot have this target. */
export function unknownTarget(name: unknown): string {
  const why =
    name === 'lm_head' || name === 'embed_tokens'
      ? ': adapters are only supported on the projections inside layers, not on the embedding or the output matrix'
      : ''
  return `target module ${shown(name)} is not supported${why}; supported are ${projections.join(', ')}`
}

const schema = z.looseObject(
  {
    ...Object.fromEntries(unusedFields.map(field => [field, unused(`${field} is not supported`)])),
    peft_type: value<'LORA'>(
      given => given === 'LORA',
      given => `peft_type ${given} is not supported; only LORA is`,
    ),
    bias: value<'none'>(
      given => given == null || given === 'none',
      () => 'adapters with biases are not supported',
    ).optional(),
    // A vision tower is never adapted here.
    exclude_modules: value<unknown>(
      given =>
        given == null || given === towerModules || (Array.isArray(given) && given.every(name => name === 'visual')),
      () => 'exclude_modules is not supported, except for a vision tower',
    ).optional(),
    lora_bias: unused('adapters with biases are not supported'),
    // Others change the base weights before training starts: the file's matrices are not relative to the checkpoint.
    init_lora_weights: value<unknown>(
      given => given == null || [true, false, 'gaussian', 'orthogonal', 'eva'].includes(given as string),
      given => `init_lora_weights ${given} is not supported`,
    ).optional(),
    // PEFT adds both names for sequence classification, whatever the model calls its head.
    modules_to_save: value<unknown>(
      given =>
        given == null || (Array.isArray(given) && given.every(name => name === 'score' || name === 'classifier')),
      given => `modules_to_save ${given} is not supported, except a reward model's score`,
    ).optional(),
    r: number('r', given => Number.isInteger(given) && given > 0, 'a positive integer'),
    lora_alpha: number('lora_alpha', () => true, 'a number'),
    lora_dropout: number('lora_dropout', given => given >= 0 && given < 1, 'a number in [0, 1)').nullish(),
    use_rslora: value<boolean>(
      given => typeof given === 'boolean',
      given => `use_rslora should be true or false, got ${given}`,
    ).nullish(),
    target_modules: z.preprocess(
      given => (given === 'all-linear' ? projections : given),
      z.array(z.enum(projections, { error: ({ input }) => unknownTarget(input) }), {
        error: ({ input }) => `target_modules should be a list of module names, got ${shown(input)}`,
      }),
    ),
  },
  { error: 'expected an object' },
)

/** Reads a parsed `adapter_config.json`; `file` is named in errors. */
export function parseAdapterConfig(raw: unknown, file: string): AdapterConfig {
  const parsed = schema.safeParse(raw)
  if (!parsed.success) throw new ModelError(`${file}: ${parsed.error.issues[0]!.message}`)
  const { r: rank, lora_alpha: alpha, lora_dropout, use_rslora, target_modules: targets } = parsed.data
  return {
    options: { rank, alpha, dropout: lora_dropout ?? 0, targets },
    scale: use_rslora ? alpha / Math.sqrt(rank) : alpha / rank,
    raw: raw as Readonly<Record<string, unknown>>,
  }
}
