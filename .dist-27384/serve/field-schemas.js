/**
 * What a field of a body may be, in the words of vLLM's messages. Lists are looked at in one pass that ends at the first
 * wrong item: a list of a million wrong ones is one issue, not a million.
 */
import { z } from 'zod';
const should = (expected) => ({ error: `Input should be a valid ${expected}` });
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isIds = (value) => Array.isArray(value) && value.every(Number.isSafeInteger);
const isText = (value) => typeof value === 'string';
const listOf = (is) => (value) => Array.isArray(value) && value.every(is);
export const integer = z.custom(Number.isSafeInteger, should('integer'));
export const number = z.number(should('number'));
export const flag = z.boolean(should('boolean'));
export const string = z.string(should('string'));
export const side = z.enum(['left', 'right'], { error: 'Input should be left or right' });
export const object = z.custom(isObject, should('dictionary'));
export const list = z.custom(Array.isArray, should('list'));
export const ids = z.custom(isIds, should('list of integers'));
export const objects = z.custom(listOf(isObject), should('list of dictionaries'));
const isTexts = listOf(isText);
export const strings = z
    .custom(value => isText(value) || isTexts(value), should('string or list of strings'))
    .transform(value => (typeof value === 'string' ? [value] : value));
const isPrompt = (value) => isText(value) || isIds(value);
const isPrompts = listOf(isPrompt);
export const prompt = z
    .custom(value => isPrompt(value) || isPrompts(value), should('string, list of strings, list of integers or list of those'))
    .transform((value) => {
    if (typeof value === 'string')
        return [value];
    return typeof value[0] === 'number' ? [value] : value;
});
/** By token id, written as JSON writes a whole number: `"0x10"` and `""` are none. */
const isBias = (value) => {
    if (!isObject(value))
        return false;
    for (const id in value) {
        const bias = value[id];
        if (!/^(0|[1-9]\d{0,14})$/.test(id) || typeof bias !== 'number' || !(Math.abs(bias) <= 100))
            return false;
    }
    return true;
};
export const logitBias = z.custom(isBias, should('dictionary of token ids and numbers between -100 and 100'));
//# sourceMappingURL=field-schemas.js.map