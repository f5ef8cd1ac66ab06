import { z } from 'zod'
import { families, initModel, type ModelShape, newConfig, type Size, sizes, type TextFamily } from '../model/index.js'
import { bytesText, reportFor } from '../progress/index.js'
import { locateModel } from '../source/index.js'
import { embeddingRows, Tokenizer } from '../text/index.js'
import { choice, directory, flagHelp, flagName, integer, readFlags, toggle, UsageError } from './flags.js'
import { interruptible } from './interrupt.js'

const sizeTable = Object.entries(sizes)
  .map(
    ([name, s]) =>
      `  ${name.padEnd(6)} hidden ${s.hidden}, intermediate ${s.intermediate}, layers ${s.layers}, heads ${s.heads}, kv-heads ${s.kvHeads}, head-dim ${s.headDim}, context ${s.context}${s.tied ? ', tied' : ''}`,
  )
  .join('\n')

const count = (description: string) => integer(description, { min: 1 }).optional()

const flags = z
  .object({
    family: choice(families as readonly [TextFamily, ...TextFamily[]], 'FAMILY', families.join(', ')),
    size: choice(Object.keys(sizes) as [Size, ...Size[]], 'SIZE', 'a named shape (see Sizes)').optional(),
    tokenizer: directory(
      'a directory with a tokenizer.json (`whetstone tokenizer train` makes one), or an id of the Hub',
    ),
    out: directory('output directory; must be empty or not exist'),
    seed: integer('seed of the random weights: the same seed gives the same model', { min: 0 }).default(0),
    dtype: choice(['float32', 'bfloat16', 'float16'], 'DTYPE', 'float32, bfloat16 or float16').default('float32'),
    hidden: count('hidden size; this and the next flags replace or change --size'),
    intermediate: count('intermediate size of the MLP'),
    layers: count('decoder layers'),
    heads: count('attention heads'),
    kvHeads: count('key-value heads (default: same as heads)'),
    headDim: count('size of a head (default: hidden / heads)'),
    context: count('context length: most tokens of a sequence (default 2048)'),
    tie: toggle('tie the output matrix to the embedding (default)'),
    noTie: toggle('use a separate output matrix'),
  })
  .refine(({ tie, noTie }) => !(tie && noTie), { error: 'give --tie or --no-tie, not both' })

export const help = `Usage: whetstone init --family FAMILY --size SIZE --tokenizer DIR --out DIR [options]

Makes a model with random weights that whetstone and transformers load: config.json, generation_config.json,
model.safetensors and the tokenizer's files. The vocabulary is the tokenizer's.

${flagHelp(flags)}

Sizes:
${sizeTable}
`

type Settings = z.output<typeof flags>

export async function run(args: string[]): Promise<number> {
  const settings = readFlags(args, flags)
  const shape = shapeOf(settings)
  return interruptible({
    work: signal => init(settings, shape, signal),
    onInterrupt: () => console.error(`Interrupted. ${settings.out} was not written.`),
  })
}

async function init(settings: Settings, shape: ModelShape, signal: AbortSignal): Promise<void> {
  const { family, dtype, seed, out } = settings
  const report = reportFor(process.env)
  const { directory } = await locateModel(settings.tokenizer, { wanted: 'tokenizer', report, signal })
  const tokenizer = await Tokenizer.load(directory)
  const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
  const config = newConfig(family, { ...shape, vocabSize: embeddingRows(tokenizer) }, tokens)
  const made = await initModel({ config, seed, dtype, tokenizer: directory, tokens, out, signal })
  const number = (value: number) => value.toLocaleString('en')
  console.log(
    `${out}: ${(config.raw.architectures as string[])[0]} with ${number(made.parameters)} parameters, ` +
      `${number(config.decoder.vocabSize)} tokens, ${dtype}, ${bytesText(made.bytes)}`,
  )
}

/** The named size with the single flags applied. Missing fields are derived, or reported. */
function shapeOf({ size, tie, noTie, ...given }: Settings): ModelShape {
  const { hidden: h, intermediate, layers, heads: a, kvHeads, headDim, context } = given
  const counts = { hidden: h, intermediate, layers, heads: a, kvHeads, headDim, context }
  const shape: Partial<ModelShape> = {
    ...(size === undefined ? {} : sizes[size]),
    ...Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== undefined)),
    ...(tie || noTie ? { tied: tie === true } : {}),
  }
  const missing = (['hidden', 'intermediate', 'layers', 'heads'] as const).filter(field => shape[field] === undefined)
  if (missing.length > 0) throw new UsageError(`expected --size, or ${missing.map(flagName).join(', ')}`)
  const { hidden, heads } = shape as ModelShape
  if (shape.headDim === undefined && hidden % heads !== 0)
    throw new UsageError(`--hidden ${hidden} is not a multiple of --heads ${heads}; give --head-dim`)
  return Object.assign({ kvHeads: heads, headDim: hidden / heads, context: 2048, tied: true }, shape as ModelShape)
}
