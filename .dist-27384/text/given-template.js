/** A chat template that is named, in place of the one that a tokenizer directory has. */
import { readFile } from 'node:fs/promises';
import { systemProblem } from '../errors/index.js';
import { chatmlFor, END_TOKEN } from './chatml.js';
import { ChatTemplateError } from './errors.js';
/** Values of `chatTemplate` that name no file. */
export const chatTemplateWords = ['auto', 'none', 'chatml'];
/** What is left of `chatTemplate` where a tokenizer is loaded already: whether text prompts are user turns. */
export const templateUse = (chatTemplate) => (chatTemplate === 'none' ? 'none' : 'auto');
/** What `chatTemplate` names; undefined where the tokenizer's own is meant. */
export async function givenTemplate(name) {
    if (name === undefined || name === 'auto' || name === 'none')
        return undefined;
    if (name === 'chatml')
        return chatml;
    const source = await readFile(name, 'utf8').catch((cause) => {
        const why = cause.code === 'ENOENT' ? 'there is no such file' : systemProblem(cause, 'read');
        throw new ChatTemplateError(`chatTemplate: ${name}: ${why}; expected auto, none, chatml or a file of Jinja`, {
            cause,
        });
    });
    return () => ({ source, path: `chatTemplate: ${name}` });
}
function chatml(tokenizer, firstId) {
    const hasEnd = tokenizer.idOf(END_TOKEN) !== undefined;
    if (!hasEnd && !tokenizer.specialTokens.has('eos_token'))
        throw new ChatTemplateError(`chatTemplate: ${tokenizer.dir} has neither ${END_TOKEN} nor an eos_token, so that chatml could not end a turn; give a file`);
    const addsBos = firstId !== undefined && firstId === tokenizer.bosId;
    return { source: chatmlFor({ hasEnd, addsBos }), path: 'chatTemplate: chatml' };
}
//# sourceMappingURL=given-template.js.map