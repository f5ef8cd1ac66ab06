/**
 * The names of `tokenizer.ggml.pre`, and how a text is split before its bytes are merged. llama.cpp has the patterns in its code and the
 * file has the name alone, so a name that is not here cannot be read, and a tokenizer whose patterns are not here cannot be written.
 */

/** A pattern whose matches are pieces of their own, each digit by itself, or the pattern of GPT-2. */
type Step = { readonly split: string } | 'digits' | 'gpt2'

export interface PreTokenizer {
  /** The first is written. */
  readonly names: readonly [string, ...string[]]
  readonly steps: readonly Step[]
  /** A piece that is a token is taken whole, without merges. */
  readonly ignoreMerges: boolean
  /** Whether a text begins with the bos token where `tokenizer.ggml.add_bos_token` is missing. */
  readonly addsBos: boolean
  /** Of the released tokenizers; llama.cpp normalises nothing. */
  readonly normalizer: 'NFC' | undefined
}

const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
const gpt2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
const spaces = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+'
const words = `${contractions}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+`
const signs = ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*'
/** cl100k and what came from it: numbers in groups of three, or digit by digit. */
const threeDigits = `${words}|\\p{N}{1,3}|${signs}|${spaces}`
const oneDigit = `${words}|\\p{N}|${signs}|${spaces}`
const lower = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'
const upper = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]'
/** o200k: words end where capitals begin. */
const cased = (ending: string, digits: string): string =>
  `[^\\r\\n\\p{L}\\p{N}]?${upper}*${lower}+${ending}|[^\\r\\n\\p{L}\\p{N}]?${upper}+${lower}*${ending}|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${spaces}`
const asian = '[一-龥ࠀ-一가-퟿]+'

interface Options {
  ignoreMerges?: boolean
  addsBos?: boolean
  normalizer?: 'NFC'
}

const entry = (
  names: readonly [string, ...string[]],
  steps: readonly Step[],
  { ignoreMerges = false, addsBos = false, normalizer }: Options = {},
): PreTokenizer => ({ names, steps, ignoreMerges, addsBos, normalizer })

const whole = { ignoreMerges: true, addsBos: true } as const

/** Where two have the same steps, the first is written. */
const preTokenizers: readonly PreTokenizer[] = [
  entry(
    [
      'gpt-2',
      'phi-2',
      'mpt',
      'olmo',
      'jais',
      'trillion',
      'granite-docling',
      'gigachat',
      'a.x-4.0',
      'mellum',
      'exaone4',
    ],
    ['gpt2'],
  ),
  entry(
    ['smollm', 'starcoder', 'refact', 'command-r', 'codeshell', 'exaone', 'minerva-7b', 'mellum2'],
    ['digits', 'gpt2'],
  ),
  entry(['qwen2'], [{ split: oneDigit }], { normalizer: 'NFC' }),
  entry(
    ['deepseek-r1-qwen', 'stablelm2', 'megrez', 'hunyuan', 'solar-open', 'grok-2', 'kormo', 'f2llmv2'],
    [{ split: oneDigit }],
  ),
  entry(
    ['qwen35'],
    [
      {
        split: `${contractions}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|${spaces}`,
      },
    ],
    { normalizer: 'NFC' },
  ),
  entry(
    ['llama-bpe', 'llama3', 'llama-v3', 'falcon3', 'falcon-h1', 'pixtral', 'midm-2.0', 'lfm2'],
    [{ split: threeDigits }],
    whole,
  ),
  entry(['dbrx', 'smaug-bpe', 'glm4', 'chatglm-bpe'], [{ split: threeDigits }]),
  entry(['tekken'], [{ split: cased('', '\\p{N}') }], whole),
  entry(['gpt-4o', 'llama4', 'kanana2', 'talkie', 'minimax-m2'], [{ split: cased(`${contractions}?`, '\\p{N}{1,3}') }]),
  entry(
    ['bailingmoe', 'bailingmoe2', 'llada-moe'],
    [{ split: `'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|${signs}|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+` }],
  ),
  entry(['seed-coder'], [{ split: `${words}|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|${spaces}` }]),
  entry(
    ['deepseek-coder'],
    [{ split: '[\\r\\n]' }, { split: '\\s?\\p{L}+' }, { split: '\\s?\\p{P}+' }, { split: asian }, { split: '\\p{N}' }],
  ),
  entry(
    ['deepseek-v3', 'hunyuan-dense', 'joyai-llm'],
    [
      { split: '\\p{N}{1,3}' },
      { split: '[一-龥぀-ゟ゠-ヿ]+' },
      {
        split:
          '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+',
      },
    ],
  ),
  entry(['falcon'], [{ split: '[\\p{P}\\$\\+<=>\\^~\\|`]+' }, { split: gpt2 }, { split: '[0-9][0-9][0-9]' }]),
  entry(['poro-chat', 'bloom', 'gpt3-finnish'], [{ split: ' ?[^(\\s|.,!?…。，、।۔،)]+' }]),
  entry(['viking'], [{ split: ' ?[^(\\s|.,!?…。，、।۔،)]+' }, { split: '\\p{N}' }]),
  entry(
    ['default'],
    [{ split: '[\\p{P}\\$\\+<=>\\^~\\|]+' }, { split: gpt2 }, { split: '\\p{N}+' }, { split: '[0-9][0-9][0-9]' }],
  ),
]

const byName = new Map(preTokenizers.flatMap(found => found.names.map(name => [name, found] as const)))

export const preTokenizerNamed = (name: string): PreTokenizer | undefined => byName.get(name)

/** All names that are read, for messages. */
export const preTokenizerNames: readonly string[] = [...byName.keys()]

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The `pre_tokenizer` of a tokenizer.json. */
export function preTokenizerJson({ steps }: PreTokenizer): Json {
  const byteLevel = {
    type: 'ByteLevel',
    add_prefix_space: false,
    trim_offsets: true,
    use_regex: steps.at(-1) === 'gpt2',
  }
  const before = steps.flatMap((step): Json[] => {
    if (step === 'gpt2') return []
    if (step === 'digits') return [{ type: 'Digits', individual_digits: true }]
    return [{ type: 'Split', pattern: { Regex: step.split }, behavior: 'Isolated', invert: false }]
  })
  return before.length === 0 ? byteLevel : { type: 'Sequence', pretokenizers: [...before, byteLevel] }
}

/** The entry that splits as this `pre_tokenizer` does, best with the same normaliser; undefined where there is none. */
export function preTokenizerOf(
  json: unknown,
  options: Pick<PreTokenizer, 'ignoreMerges' | 'normalizer'>,
): PreTokenizer | undefined {
  const wanted = stepsOf(json)
  if (wanted === undefined) return undefined
  const key = JSON.stringify(wanted)
  const found = preTokenizers.filter(
    ({ steps, ignoreMerges }) => JSON.stringify(steps) === key && ignoreMerges === options.ignoreMerges,
  )
  return found.find(({ normalizer }) => normalizer === options.normalizer) ?? found[0]
}

/** The steps of a byte-level `pre_tokenizer`; undefined where it does something else. */
function stepsOf(json: unknown): Step[] | undefined {
  if (!isObject(json)) return undefined
  if (json.type === 'Sequence') {
    const parts = Array.isArray(json.pretokenizers) ? json.pretokenizers.map(stepsOf) : [undefined]
    return parts.every(part => part !== undefined) ? parts.flat() : undefined
  }
  if (json.type === 'Digits' && json.individual_digits === true) return ['digits']
  if (json.type === 'ByteLevel' && json.add_prefix_space === false) return json.use_regex === false ? [] : ['gpt2']
  if (json.type !== 'Split' || !isObject(json.pattern) || typeof json.pattern.Regex !== 'string') return undefined
  // A pattern that matches everything: what is between matches is empty, kept or not.
  const isolated = json.behavior === 'Isolated' && json.invert !== true
  const removed = json.behavior === 'Removed' && json.invert === true
  return isolated || removed ? [{ split: spelled(json.pattern.Regex) }] : undefined
}

/** Other spellings of the same pattern. */
const spelled = (pattern: string): string =>
  pattern.replaceAll("(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])", contractions)
