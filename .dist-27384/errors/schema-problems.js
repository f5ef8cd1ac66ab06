import { nearest } from './did-you-mean.js';
import { expectation } from './expectation.js';
/**
 * What a schema found, a line each: where, what was expected, and for a key it does not know, which was probably meant.
 *
 * @example
 * const schema = z.strictObject({ rewardClip: z.number() })
 * const result = schema.safeParse({ reward_clip: 1 })
 * if (!result.success) console.log(schemaProblems(result.error, { known: ['rewardClip'] }))
 * // there is no option "reward_clip"; did you mean rewardClip?
 */
export function schemaProblems(error, { known, otherWords = {}, describe, valueAt }) {
    return error.issues.flatMap(issue => {
        const where = issue.path.join('.');
        if (issue.code === 'unrecognized_keys')
            return issue.keys.map(key => {
                const name = where === '' ? key : `${where}.${key}`;
                return `there is no option "${name}"${meant(key, known, otherWords)}`;
            });
        const missing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
        if (valueAt && !missing)
            return [`${where === '' ? '' : `${where}: `}${expectation(issue, valueAt(issue.path))}`];
        const expected = issue.message.replace(/^Invalid (input|option): /, '');
        if (missing)
            return [`${where}: missing; ${describe?.(where) ?? expected.replace(/, received undefined$/, '')}`];
        return [`${where === '' ? '' : `${where}: `}${expected}`];
    });
}
function meant(key, known, otherWords) {
    const camel = key.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
    if (known.includes(camel))
        return `; did you mean ${camel}?`;
    const here = (word) => `; it is ${otherWords[word]} here`;
    if (Object.hasOwn(otherWords, camel))
        return here(camel);
    const near = nearest(camel, [...known, ...Object.keys(otherWords)]);
    if (near === undefined)
        return '';
    return known.includes(near) ? `; did you mean ${near}?` : here(near);
}
//# sourceMappingURL=schema-problems.js.map