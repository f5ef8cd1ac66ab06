import { lastBoxed, lastTag } from './extract-answer.js';
import { referencesOf, rule } from './rule.js';
/**
 * 1 where the answer is the reference, or one of them; 0 where it is not. Spaces around both do not count, and runs of
 * spaces count as one.
 */
export function exactMatch({ name = 'exact-match', answer = 'whole', letterCase = 'sensitive', } = {}) {
    const plain = (text) => {
        const spaced = text.normalize('NFC').trim().replace(/\s+/g, ' ');
        return letterCase === 'insensitive' ? spaced.toLowerCase() : spaced;
    };
    const grade = (input) => {
        const references = referencesOf(name, input);
        const { response } = input;
        const given = answer === 'whole' ? response : answer === 'boxed' ? lastBoxed(response) : lastTag(response, 'answer');
        return given !== undefined && references.some(reference => plain(reference) === plain(given)) ? 1 : 0;
    };
    return rule(name, grade, { needsReference: true });
}
//# sourceMappingURL=exact-match.js.map