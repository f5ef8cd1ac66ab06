import { didYouMean } from '../errors/index.js'
import { families, initModel, type ModelShape, newConfig, type Size, sizes } from '../model/index.js'
import { Tokenizer } from '../text/index.js'
import { parseOptions, UsageError } from './usage.js'

const sizeTable = Object.entries(sizes)
  .map(
    ([name, s]) =>
      `  ${name.padEnd(6)} hidden ${s.hidden}, intermediate ${s.intermediate}, layers ${s.layers}, heads ${s.heads}, kv-heads ${s.kvHeads}, head-dim ${s.headDim}, context ${s.context}${s.tied ? ', tied' : ''}`,
  )
  .join('\n')

export const help = `Usage: whetstone init --family FAMILY --size SIZE --tokenizer DIR --out DIR [options]

Makes a model with random weights that whetstone and transformers load: config.json, generation_config.json,
model.safetensors and the tokenizer's files. The vocabulary is the tokenizer's.

  --family FAMILY     ${families.join(', ')}
  --size SIZE         a shape by name (below)
  --tokenizer DIR     a directory with a tokenizer.json (\`whetstone tokenizer train\` makes one)
  --out DIR           directory to make; must not exist or be empty
  --seed N            of the random weights (default 0): the same seed gives the same model
  --dtype DTYPE       float32 (default), bfloat16 or float16

One by one, instead of a size or on top of it:
  --hidden N  --intermediate N  --layers N  --heads N  --kv-heads N  --head-dim N  --context N  --tie | --no-tie

Sizes:
${sizeTable}
`

const counts = {
  hidden: 'hidden',
  intermediate: 'intermediate',
  layers: 'layers',
  heads: 'heads',
  'kv-heads': 'kvHeads',
  'head-dim': 'headDim',
  context: 'context',
} as const

export async function run(args: string[]): Promise<number> {
  const values = parseOptions(args, {
    family: { type: 'string' },
    size: { type: 'string' },
    tokenizer: { type: 'string' },
    out: { type: 'string' },
    seed: { type: 'string', default: '0' },
    dtype: { type: 'string', default: 'float32' },
    hidden: { type: 'string' },
    intermediate: { type: 'string' },
    layers: { type: 'string' },
    heads: { type: 'string' },
    'kv-heads': { type: 'string' },
    'head-dim': { type: 'string' },
    context: { type: 'string' },
    tie: { type: 'boolean' },
    'no-tie': { type: 'boolean' },
  })
  const family = oneOf('--family', values.family, families)
  const dtype = oneOf('--dtype', values.dtype, ['float32', 'bfloat16', 'float16'] as const)
  const size = values.size === undefined ? undefined : oneOf('--size', values.size, Object.keys(sizes) as Size[])
  const seed = integer('--seed', values.seed!, 0)
  if (!values.tokenizer) throw new UsageError('--tokenizer: expected a directory')
  if (!values.out) throw new UsageError('--out: expected a directory')
  if (values.tie && values['no-tie']) throw new UsageError('--tie and --no-tie exclude each other')

  const given: Partial<ModelShape> = {}
  for (const [option, field] of Object.entries(counts) as [
    keyof typeof counts,
    (typeof counts)[keyof typeof counts],
  ][]) {
    const text = values[option]
    if (text !== undefined) given[field] = integer(`--${option}`, text, 1)
  }
  if (values.tie || values['no-tie']) given.tied = values.tie === true
  const shape = complete(size ? { ...sizes[size], ...given } : given)

  const tokenizer = await Tokenizer.load(values.tokenizer)
  const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
  const config = newConfig(family, { ...shape, vocabSize: embeddingRows(tokenizer) }, tokens)
  const made = await initModel({ config, seed, dtype, tokenizer: values.tokenizer, tokens, out: values.out })
  const number = (value: number) => value.toLocaleString('en')
  console.log(
    `${values.out}: ${(config.raw.architectures as string[])[0]} with ${number(made.parameters)} parameters, ` +
      `${number(config.decoder.vocabSize)} tokens, ${dtype}, ${(made.bytes / 1e6).toFixed(1)} MB`,
  )
  return 0
}

/** Fills in what follows from the rest; anything else that is missing is named. */
function complete(shape: Partial<ModelShape>): ModelShape {
  const missing = (['hidden', 'intermediate', 'layers', 'heads'] as const).filter(field => shape[field] === undefined)
  if (missing.length > 0)
    throw new UsageError(`expected --size, or else ${missing.map(field => `--${field}`).join(', ')} too`)
  const { hidden, heads } = shape as ModelShape
  if (shape.headDim === undefined && hidden % heads !== 0)
    throw new UsageError(`--hidden ${hidden} is not a multiple of --heads ${heads}; say --head-dim`)
  return Object.assign({ kvHeads: heads, headDim: hidden / heads, context: 2048, tied: true }, shape as ModelShape)
}

/** One more than the largest id: a vocabulary may have holes. */
function embeddingRows(tokenizer: Tokenizer): number {
  let id = 0
  for (let found = 0; found < tokenizer.vocabSize; id++) if (tokenizer.tokenOf(id) !== undefined) found++
  return id
}

function oneOf<T extends string>(option: string, given: string | undefined, known: readonly T[]): T {
  const found = known.find(name => name === given)
  if (found === undefined)
    throw new UsageError(
      `${option}: expected one of ${known.join(', ')}${given === undefined ? '' : `, got "${given}"${didYouMean(given, known)}`}`,
    )
  return found
}

function integer(option: string, text: string, least: number): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least)
    throw new UsageError(`${option}: expected an integer of at least ${least}, got "${text}"`)
  return value
}
