import { exactMatch } from './exact-match.js';
import { format } from './format.js';
import { numericAnswer } from './numeric-answer.js';
export { exactMatch } from './exact-match.js';
export { format } from './format.js';
export { jsonSchema } from './json-schema.js';
export { length } from './length.js';
export { latexForm, plainForm, sameAnswer } from './normalize-answer.js';
export { numericAnswer } from './numeric-answer.js';
export { pattern } from './pattern.js';
export { wordList } from './word-list.js';
/** Rules that need no options: a recipe may name them without anybody making them. */
export const plainRules = {
    'exact-match': () => exactMatch(),
    'numeric-answer': () => numericAnswer(),
    format: () => format(),
};
//# sourceMappingURL=index.js.map