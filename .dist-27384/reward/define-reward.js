import { SourceError } from './errors.js';
import { sampleReward } from './function-source.js';
/**
 * A reward over rows of a known shape: a column that the schema does not have fails to compile, and a row that does not fit
 * it is a failure that names the column, not a reward.
 *
 * @example
 * const reward = defineReward(z.object({ answer: z.string() }), ({ row, response }) => (response.includes(row.answer) ? 1 : 0))
 */
export function defineReward(rowSchema, fn, options = {}) {
    const source = sampleReward((input, context) => {
        const result = rowSchema.safeParse(input.row);
        if (!result.success)
            throw new SourceError('input', rowMessage(result.error));
        return fn({ ...input, row: result.data }, context);
    }, { ...options, name: options.name ?? (fn.name || 'reward') });
    return { ...source, rowSchema };
}
function rowMessage(error) {
    const [first] = error.issues;
    const column = first.path.length > 0 ? `row.${first.path.join('.')}` : 'row';
    const more = error.issues.length > 1 ? ` (and ${error.issues.length - 1} more)` : '';
    return `${column}: ${first.message}${more}. Check the dataset's column, or the schema given to defineReward.`;
}
//# sourceMappingURL=define-reward.js.map