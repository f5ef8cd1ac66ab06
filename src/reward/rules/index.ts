/** The built-in rules: rewards one can check. */
import type { RewardSource } from '../source.js'
import { exactMatch } from './exact-match.js'
import { format } from './format.js'
import { numericAnswer } from './numeric-answer.js'

export { type ExactMatchOptions, exactMatch } from './exact-match.js'
export { type FormatOptions, format } from './format.js'
export { type JsonSchemaOptions, jsonSchema } from './json-schema.js'
export { type LengthOptions, length } from './length.js'
export { sameAnswer } from './normalize-answer.js'
export { type AnswerPlace, type NumericAnswerOptions, numericAnswer } from './numeric-answer.js'
export { type PatternOptions, pattern } from './pattern.js'
export { type WordListOptions, wordList } from './word-list.js'

/** Rules without required options: a recipe can name them without a source. */
export const plainRules: Readonly<Record<string, () => RewardSource>> = {
  'exact-match': () => exactMatch(),
  'numeric-answer': () => numericAnswer(),
  format: () => format(),
}
