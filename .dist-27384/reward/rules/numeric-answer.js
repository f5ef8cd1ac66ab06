import { afterHashes, lastBoxed, lastNumber, lastTag } from './extract-answer.js';
import { sameAnswer } from './normalize-answer.js';
import { referencesOf, rule } from './rule.js';
export const answerPlaces = ['boxed', 'hashes', 'answer-tag', 'last-number'];
const find = {
    boxed: lastBoxed,
    hashes: afterHashes,
    'answer-tag': text => lastTag(text, 'answer'),
    'last-number': lastNumber,
};
/**
 * 1 where the response's answer is the reference, 0 where it is another or none is found. Answers are compared as written, in
 * several notations, and as exact fractions; see `sameAnswer` for what counts as the same. A reference may itself hold its answer
 * after `####` or in a `\boxed{}`, as in the datasets.
 */
export function numericAnswer({ name = 'numeric-answer', answer = ['boxed', 'hashes', 'answer-tag'], } = {}) {
    const grade = (input) => {
        const references = referencesOf(name, input).map(text => lastBoxed(text) ?? afterHashes(text) ?? text);
        const given = firstFound(input.response, answer);
        return given !== undefined && references.some(reference => sameAnswer(given, reference)) ? 1 : 0;
    };
    return rule(name, grade, { needsReference: true });
}
function firstFound(response, places) {
    for (const place of places) {
        const found = find[place](response);
        if (found !== undefined)
            return found;
    }
    return undefined;
}
//# sourceMappingURL=numeric-answer.js.map