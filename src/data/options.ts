/** Data options of a training config. The descriptions are the docs. */
import { z } from 'zod'

const sourceSchema = z.strictObject({
  path: z
    .string()
    .min(1)
    .describe(
      'a file, a folder of a data set (FOLDER:CONFIG/SPLIT), an id of the Hub, or a glob pattern (*, ?, ** for folders, {a,b})',
    ),
  weight: z
    .number()
    .positive()
    .optional()
    .describe('how often an epoch uses each row: 1 once (default), 2 twice, 0.5 every second row'),
  columns: z
    .record(z.string(), z.string().min(1))
    .optional()
    .describe('column names: our name to the name in the file, such as {prompt: question}; dots select nested fields'),
})

/** A path, a source with its settings, or a list of both. */
export const dataSchema = z.union([
  z.string().min(1),
  sourceSchema,
  z.array(z.union([z.string().min(1), sourceSchema])).min(1),
])

export type DataSource = z.output<typeof sourceSchema>
export type DataSpec = z.output<typeof dataSchema>

/** Beside `data` in every training config. */
export const dataOptionsShape = {
  validationData: dataSchema.optional().describe('files of held-out rows'),
  validationShare: z
    .number()
    .min(0)
    .max(0.9)
    .default(0)
    .describe('share of rows to hold out, at least one row; a hash of each row decides, so the choice never changes'),
  maxLength: z.int().min(2).optional().describe('most tokens of an example (default: the context of the model)'),
  overlong: z
    .enum(['truncate', 'drop'])
    .optional()
    .describe(
      'what to do with longer examples: truncate or drop; the run counts both (default: truncate conversations, drop others)',
    ),
  promptTemplate: z
    .string()
    .refine(text => text.includes('{prompt}'), 'expected a text that contains {prompt}')
    .optional()
    .describe(
      'template of a prompt, such as "Question: {prompt}"; {name} inserts another column, {{ and }} are braces',
    ),
  systemPrompt: z.string().min(1).optional().describe('system message for conversations without one'),
  chatTemplate: z
    .string()
    .min(1)
    .default('auto')
    .describe(
      'auto: a text prompt becomes a user message if the tokenizer has a chat template; none: text prompts are used as written; chatml or a Jinja file: a template that replaces the one of the tokenizer',
    ),
  trainOn: z
    .enum(['assistant', 'all'])
    .default('assistant')
    .describe('trained tokens of a conversation: those of the assistant, or all'),
  maxBadRows: z.int().min(0).default(0).describe('most bad rows before the run stops; bad rows are skipped and listed'),
  shuffle: z.boolean().default(true).describe('shuffle the rows for each epoch; false: keep the order of the files'),
}

export const dataOptionsSchema = z.object(dataOptionsShape)
export type DataOptions = z.output<typeof dataOptionsSchema>
