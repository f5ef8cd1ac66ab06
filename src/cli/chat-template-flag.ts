/** `--chat-template` of the verbs that take prompts. */
import { text } from './flags.js'

const given = 'chatml or a Jinja file: a template that replaces the one of the tokenizer'

/** For verbs that take text prompts. */
export const promptTemplateFlag = text(
  'TEMPLATE',
  `auto: a text prompt becomes a user message if the tokenizer has a chat template; none: text prompts are used as written; ${given}`,
  'auto, none, chatml or a file',
).default('auto')

/** For verbs that only take conversations. */
export const conversationTemplateFlag = text(
  'TEMPLATE',
  `auto: the template of the tokenizer; ${given}`,
  'auto, chatml or a file',
)
  .refine(value => value !== 'none', 'expected auto, chatml or a file: conversations need a template')
  .default('auto')
