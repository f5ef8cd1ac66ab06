/** Saved samples: prompts that have been answered. */
import { z } from 'zod'
import { type FilePrompt, type PromptColumns, toPrompt } from './prompts.js'
import { BadRows, type DataRow, type ReadOptions, readRows } from './read-rows.js'
import { checkRow } from './row-schema.js'

export interface SavedSample extends FilePrompt {
  readonly response: string
  /** With special tokens; absent where the file does not say. */
  readonly responseRaw?: string
  readonly promptIds?: Int32Array
  readonly responseIds?: Int32Array
  readonly finishReason: 'stop' | 'length' | 'abort'
  readonly promptId: string
  readonly sample: number
}

const ids = z.array(
  z
    .int()
    .min(0)
    .max(2 ** 31 - 1),
)
/** The columns of a sample beside those of its prompt, which stay free. */
const sampleSchema = z.looseObject({
  response: z.string(),
  response_raw: z.string().optional(),
  prompt_ids: ids.optional(),
  response_ids: ids.optional(),
  finish_reason: z.enum(['stop', 'length', 'abort']).optional(),
  prompt_id: z.union([z.string(), z.number()]).optional(),
  sample: z.int().min(0).optional(),
  /** The dataset's row the prompt came from; without it, all columns of the line. */
  row: z.record(z.string(), z.unknown()).optional(),
})

/** Reads a file of samples: rows of a prompt file with a `response`. All bad rows are found first, and are one error. */
export async function readSamples(
  file: string,
  options: ReadOptions & { readonly columns?: PromptColumns } = {},
): Promise<SavedSample[]> {
  const bad = new BadRows(file, options.listed)
  const samples: SavedSample[] = []
  for await (const located of readRows(file, bad, options)) {
    const checked = checkRow(sampleSchema, located.row)
    const prompt = 'message' in checked ? checked.message : toPrompt<DataRow>(located, undefined, options.columns ?? {})
    if (typeof prompt === 'string' || 'message' in checked) bad.add(located.where, String(prompt))
    else samples.push({ ...prompt, ...sampleOf(checked.row, samples.length) })
  }
  bad.throwIfAny()
  if (samples.length === 0) bad.add(file, 'no rows')
  bad.throwIfAny()
  return samples
}

function sampleOf(
  row: z.output<typeof sampleSchema>,
  index: number,
): Omit<SavedSample, keyof FilePrompt> & { promptId: string } & { row?: DataRow } {
  const { response, response_raw: raw, prompt_ids: promptIds, response_ids: responseIds } = row
  return {
    response,
    ...(row.row === undefined ? {} : { row: row.row }),
    ...(raw === undefined ? {} : { responseRaw: raw }),
    ...(promptIds === undefined ? {} : { promptIds: Int32Array.from(promptIds) }),
    ...(responseIds === undefined ? {} : { responseIds: Int32Array.from(responseIds) }),
    finishReason: row.finish_reason ?? 'stop',
    promptId: String(row.prompt_id ?? index),
    sample: row.sample ?? 0,
  }
}
