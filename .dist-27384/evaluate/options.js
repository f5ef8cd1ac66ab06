/** What an evaluation is asked for. The descriptions are its docs. */
import { z } from 'zod';
import { dataOptionsShape, dataSchema } from '../data/index.js';
import { InputError, schemaProblems } from '../errors/index.js';
import { devicePattern, expectedDevice } from '../tensor/index.js';
import { bleuTokenizers } from './bleu-tokenizers.js';
export const evaluationMetrics = ['perplexity', 'reward', 'accuracy', 'winRate', 'bleu', 'rougeL'];
const text = z.string().min(1);
const evaluationShape = {
    model: text.describe('a Hugging Face model directory'),
    adapter: text.optional().describe("a LoRA adapter of the model, in PEFT's format"),
    reference: text.optional().describe('a model to compare with, on the same prompts'),
    data: dataSchema.describe('files of prompts, or of conversations with answers'),
    reward: z
        .union([text, z.custom(value => typeof value === 'object' && value !== null)])
        .optional()
        .describe('a reward module, a description of sources, or the directory of a reward model'),
    metrics: z
        .array(z.enum(evaluationMetrics))
        .min(1)
        .optional()
        .describe('what has to be measured (default: whatever the data and the reward allow)'),
    limit: z.int().min(1).optional().describe('rows, from the first on (default: all)'),
    samples: z.int().min(1).default(1).describe('answers to each prompt: pass@k is of k up to that many'),
    temperature: z
        .number()
        .min(0)
        .optional()
        .describe('0: always the likeliest token (default: 0 for one answer, 1 for several)'),
    maxNewTokens: z.int().min(1).default(256).describe('tokens of an answer at most'),
    correctAt: z
        .number()
        .optional()
        .describe('rewards from here on are right answers (default: 1, and no accuracy where a reward is a model)'),
    bleuTokenizer: z
        .enum(['auto', ...bleuTokenizers])
        .default('auto')
        .describe("sacrebleu's tokenizer; auto: by the script of the references, 13a where words have spaces between them"),
    promptTemplate: dataOptionsShape.promptTemplate,
    systemPrompt: dataOptionsShape.systemPrompt,
    chatTemplate: dataOptionsShape.chatTemplate,
    maxBadRows: dataOptionsShape.maxBadRows,
    device: z.string().regex(devicePattern, expectedDevice).default('auto').describe('auto: the GPU where there is one'),
    seed: z.int().default(0).describe('of the random numbers'),
};
export const evaluationSchema = z
    .strictObject(evaluationShape)
    .refine(({ samples, temperature }) => samples === 1 || temperature !== 0, {
    path: ['temperature'],
    error: 'at 0 all samples of a prompt are the same; raise it, or ask for one sample',
});
/** Checks the options and fills in the defaults. */
export function resolveEvaluation(options) {
    for (const name of ['model', 'data'])
        if (options[name] === undefined)
            throw new InputError(`${name}: missing; ${evaluationShape[name].description}`);
    const result = evaluationSchema.safeParse(options);
    if (result.success)
        return result.data;
    throw new InputError(schemaProblems(result.error, { known: Object.keys(evaluationShape) }).join('\n'));
}
/** Of the config's, or what its number of samples takes. */
export const temperatureOf = ({ temperature, samples }) => temperature ?? (samples === 1 ? 0 : 1);
//# sourceMappingURL=options.js.map