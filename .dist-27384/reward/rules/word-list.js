import { spacelessCharacter } from '../../text/index.js';
import { RewardConfigError } from '../errors.js';
import { rule } from './rule.js';
/**
 * A safety filter: a penalty for responses that contain a word of a list. Whole words, in any case and any Unicode form. Chinese,
 * Japanese, Thai and other scripts without spaces show no ends of words: a word of these is found anywhere in such text. A list
 * cannot see meaning, so it is a floor under a reward model, not a replacement for one.
 */
export function wordList({ name = 'word-list', words, penalty = -1, clean = 0 }) {
    const listed = words.map(fold).filter(word => word !== '');
    if (listed.length === 0)
        throw new RewardConfigError(`rule ${name}: words is empty`);
    const expression = anyOf(listed);
    return rule(name, ({ response }) => {
        const found = fold(response).match(expression)?.length ?? 0;
        return { reward: found > 0 ? penalty : clean, metrics: { words_found: found } };
    });
}
/** A letter, mark or digit that belongs to the word beside it. Not \b, which knows only ASCII letters. */
const inWord = `(?!${spacelessCharacter})[\\p{L}\\p{M}\\p{N}_]`;
const startsSpaceless = new RegExp(`^${spacelessCharacter}`, 'u');
const endsSpaceless = new RegExp(`${spacelessCharacter}$`, 'u');
/** Any of the words, each with the boundaries that its script has. */
function anyOf(words) {
    const byBoundaries = new Map();
    for (const word of words) {
        const before = startsSpaceless.test(word) ? '' : `(?<!${inWord})`;
        // A vowel sign or tone mark makes another character of the one before it.
        const after = endsSpaceless.test(word) ? '(?!\\p{M})' : `(?!${inWord})`;
        const alike = byBoundaries.get(before + after) ?? { before, after, escaped: [] };
        byBoundaries.set(before + after, alike);
        alike.escaped.push(word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/ /g, '\\s+'));
    }
    const parts = [...byBoundaries.values()];
    return new RegExp(parts.map(({ before, after, escaped }) => `${before}(?:${escaped.join('|')})${after}`).join('|'), 'gu');
}
/** One form for texts that read the same: full-width letters, case, soft hyphens and other characters one cannot see. */
function fold(text) {
    return text
        .normalize('NFKC')
        .replace(/\p{Cf}/gu, '')
        .toLowerCase()
        .replace(/\s+/g, ' ')
        .trim();
}
//# sourceMappingURL=word-list.js.map