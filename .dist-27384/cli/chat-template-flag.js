/** `--chat-template` of the verbs that take prompts. */
import { text } from './flags.js';
const given = "chatml, or a file of Jinja: a template in place of the tokenizer's own";
/** Of verbs that take texts as prompts. */
export const promptTemplateFlag = text('TEMPLATE', `auto: text prompts are user turns where the tokenizer has a chat template; none: they are taken as they are; ${given}`, 'auto, none, chatml or a file').default('auto');
/** Of verbs that take conversations alone. */
export const conversationTemplateFlag = text('TEMPLATE', `auto: the tokenizer's own; ${given}`, 'auto, chatml or a file')
    .refine(value => value !== 'none', 'expected auto, chatml or a file: conversations need a template')
    .default('auto');
//# sourceMappingURL=chat-template-flag.js.map