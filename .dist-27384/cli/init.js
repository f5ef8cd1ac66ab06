import { z } from 'zod';
import { families, initModel, newConfig, sizes } from '../model/index.js';
import { embeddingRows, Tokenizer } from '../text/index.js';
import { choice, directory, flagHelp, flagName, integer, readFlags, toggle, UsageError } from './flags.js';
import { interruptible } from './interrupt.js';
const sizeTable = Object.entries(sizes)
    .map(([name, s]) => `  ${name.padEnd(6)} hidden ${s.hidden}, intermediate ${s.intermediate}, layers ${s.layers}, heads ${s.heads}, kv-heads ${s.kvHeads}, head-dim ${s.headDim}, context ${s.context}${s.tied ? ', tied' : ''}`)
    .join('\n');
const count = (description) => integer(description, { min: 1 }).optional();
const flags = z
    .object({
    family: choice(families, 'FAMILY', families.join(', ')),
    size: choice(Object.keys(sizes), 'SIZE', 'a shape by name (below)').optional(),
    tokenizer: directory('a directory with a tokenizer.json (`whetstone tokenizer train` makes one)'),
    out: directory('directory to make; must not exist or be empty'),
    seed: integer('of the random weights: the same seed gives the same model', { min: 0 }).default(0),
    dtype: choice(['float32', 'bfloat16', 'float16'], 'DTYPE', 'float32, bfloat16 or float16').default('float32'),
    hidden: count('instead of a size or on top of it, as those that follow: the width of the model'),
    intermediate: count('the width inside the MLP'),
    layers: count('decoder layers'),
    heads: count('attention heads'),
    kvHeads: count('heads of keys and values (default: as many as heads)'),
    headDim: count('the width of a head (default: hidden / heads)'),
    context: count('tokens of a sequence at most (default 2048)'),
    tie: toggle('the output matrix is the embedding (default)'),
    noTie: toggle('the output matrix is one of its own'),
})
    .refine(({ tie, noTie }) => !(tie && noTie), { error: '--tie and --no-tie exclude each other' });
export const help = `Usage: whetstone init --family FAMILY --size SIZE --tokenizer DIR --out DIR [options]

Makes a model with random weights that whetstone and transformers load: config.json, generation_config.json,
model.safetensors and the tokenizer's files. The vocabulary is the tokenizer's.

${flagHelp(flags)}

Sizes:
${sizeTable}
`;
export async function run(args) {
    const settings = readFlags(args, flags);
    const shape = shapeOf(settings);
    return interruptible({
        work: signal => init(settings, shape, signal),
        onInterrupt: () => console.error(`Interrupted. ${settings.out} was not written.`),
    });
}
async function init(settings, shape, signal) {
    const { family, dtype, seed, out } = settings;
    const tokenizer = await Tokenizer.load(settings.tokenizer);
    const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId };
    const config = newConfig(family, { ...shape, vocabSize: embeddingRows(tokenizer) }, tokens);
    const made = await initModel({ config, seed, dtype, tokenizer: settings.tokenizer, tokens, out, signal });
    const number = (value) => value.toLocaleString('en');
    console.log(`${out}: ${config.raw.architectures[0]} with ${number(made.parameters)} parameters, ` +
        `${number(config.decoder.vocabSize)} tokens, ${dtype}, ${(made.bytes / 1e6).toFixed(1)} MB`);
}
/** The size with what was given one by one on top; what is missing is filled in where it follows from the rest, or named. */
function shapeOf({ size, tie, noTie, ...given }) {
    const { hidden: h, intermediate, layers, heads: a, kvHeads, headDim, context } = given;
    const counts = { hidden: h, intermediate, layers, heads: a, kvHeads, headDim, context };
    const shape = {
        ...(size === undefined ? {} : sizes[size]),
        ...Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== undefined)),
        ...(tie || noTie ? { tied: tie === true } : {}),
    };
    const missing = ['hidden', 'intermediate', 'layers', 'heads'].filter(field => shape[field] === undefined);
    if (missing.length > 0)
        throw new UsageError(`expected --size, or else ${missing.map(flagName).join(', ')} too`);
    const { hidden, heads } = shape;
    if (shape.headDim === undefined && hidden % heads !== 0)
        throw new UsageError(`--hidden ${hidden} is not a multiple of --heads ${heads}; say --head-dim`);
    return Object.assign({ kvHeads: heads, headDim: hidden / heads, context: 2048, tied: true }, shape);
}
//# sourceMappingURL=init.js.map