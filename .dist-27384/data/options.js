/** Where data comes from and how it is read: the part of a training's config that is about data. Descriptions are its docs. */
import { z } from 'zod';
const sourceSchema = z.strictObject({
    path: z.string().min(1).describe('a file, or a pattern: * and ? within a name, ** for folders, {a,b} for either'),
    weight: z
        .number()
        .positive()
        .optional()
        .describe('how often an epoch visits its rows: 1 once each (the default), 2 twice, 0.5 every second one'),
    columns: z
        .record(z.string(), z.string().min(1))
        .optional()
        .describe('what its columns are called: our name to theirs, such as {prompt: question}; dots go into objects'),
});
/** A path, a source with its settings, or a list of both. */
export const dataSchema = z.union([
    z.string().min(1),
    sourceSchema,
    z.array(z.union([z.string().min(1), sourceSchema])).min(1),
]);
/** Beside `data` in every training config. */
export const dataOptionsShape = {
    validationData: dataSchema.optional().describe('held-out rows: files of their own'),
    validationShare: z
        .number()
        .min(0)
        .max(0.9)
        .default(0)
        .describe("share of the rows that is held out, by a hash of each row, so that a row's side never changes"),
    maxLength: z.int().min(2).optional().describe("tokens an example may have (default: the model's context)"),
    overlong: z
        .enum(['truncate', 'drop'])
        .optional()
        .describe('of longer examples: cut, or do without them, counted either way (default: truncate conversations, drop others)'),
    promptTemplate: z
        .string()
        .refine(text => text.includes('{prompt}'), 'expected {prompt} somewhere in it')
        .optional()
        .describe('text around a prompt, such as "Question: {prompt}"; other columns by their names, {{ and }} for braces'),
    systemPrompt: z.string().min(1).optional().describe('the system message of conversations that have none'),
    chatTemplate: z
        .string()
        .min(1)
        .default('auto')
        .describe("auto: text prompts are user turns where the tokenizer has a chat template; none: they are taken as they are; chatml, or a file of Jinja: a template in place of the tokenizer's own"),
    trainOn: z
        .enum(['assistant', 'all'])
        .default('assistant')
        .describe("of conversations: the assistant's tokens alone, or all"),
    maxBadRows: z.int().min(0).default(0).describe('rows that may be wrong; they are left out and listed'),
    shuffle: z.boolean().default(true).describe('another order for each epoch; false: the order of the files'),
};
export const dataOptionsSchema = z.object(dataOptionsShape);
//# sourceMappingURL=options.js.map