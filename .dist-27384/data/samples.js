/** Saved samples: prompts that have been answered. */
import { z } from 'zod';
import { toPrompt } from './prompts.js';
import { BadRows, readRows } from './read-rows.js';
import { checkRow } from './row-schema.js';
const ids = z.array(z
    .int()
    .min(0)
    .max(2 ** 31 - 1));
/** The columns of a sample beside those of its prompt, which stay free. */
const sampleSchema = z.looseObject({
    response: z.string(),
    response_raw: z.string().optional(),
    prompt_ids: ids.optional(),
    response_ids: ids.optional(),
    finish_reason: z.enum(['stop', 'length', 'abort']).optional(),
    group: z.union([z.string(), z.number()]).optional(),
    sample: z.int().min(0).optional(),
    /** The dataset's row the prompt came from; without it, all columns of the line. */
    row: z.record(z.string(), z.unknown()).optional(),
});
/** Reads a file of samples: rows of a prompt file with a `response`. All bad rows are found first, and are one error. */
export async function readSamples(file, options = {}) {
    const bad = new BadRows(file, options.listed);
    const samples = [];
    for await (const located of readRows(file, bad, options)) {
        const checked = checkRow(sampleSchema, located.row);
        const prompt = 'message' in checked ? checked.message : toPrompt(located, undefined, options.columns ?? {});
        if (typeof prompt === 'string' || 'message' in checked)
            bad.add(located.where, String(prompt));
        else
            samples.push({ ...prompt, ...sampleOf(checked.row, samples.length) });
    }
    bad.throwIfAny();
    if (samples.length === 0)
        bad.add(file, 'no rows');
    bad.throwIfAny();
    return samples;
}
function sampleOf(row, index) {
    const { response, response_raw: raw, prompt_ids: promptIds, response_ids: responseIds } = row;
    return {
        response,
        ...(row.row === undefined ? {} : { row: row.row }),
        ...(raw === undefined ? {} : { responseRaw: raw }),
        ...(promptIds === undefined ? {} : { promptIds: Int32Array.from(promptIds) }),
        ...(responseIds === undefined ? {} : { responseIds: Int32Array.from(responseIds) }),
        finishReason: row.finish_reason ?? 'stop',
        group: String(row.group ?? index),
        sample: row.sample ?? 0,
    };
}
//# sourceMappingURL=samples.js.map