/**
 * Tokenizers and chat templates: text in, token ids out, once.
 *
 * @example
 * import { Tokenizer } from 'whetstone/text'
 * const tokenizer = await Tokenizer.load('models/qwen2')
 * const { ids, assistantMask } = await tokenizer.encodeConversation([
 *   { role: 'user', content: 'What is 2 + 2?' },
 *   { role: 'assistant', content: '4' },
 * ])
 */
export type { BoundedEncoding } from './bounded-encoding.js'
export type { ChatContentPart, ChatMessage } from './chat-messages.js'
export { type ChatOptions, ChatTemplate, type TextSpan } from './chat-template.js'
export { embeddingRows } from './embedding-rows.js'
export { ChatTemplateError, TokenizerError } from './errors.js'
export { tokenizerFingerprint } from './fingerprint.js'
export {
  encodeTurns,
  type FitOptions,
  type FittedPrompt,
  fitPrompt,
  promptTurns,
  type TextPrompt,
} from './fit-prompt.js'
export { chatTemplateWords, templateUse } from './given-template.js'
export { spacelessCharacter } from './scripts.js'
export { type TokenIds, tokenIds } from './token-ids.js'
export { type ReaderOptions, type TokenReader, tokenReader } from './token-reader.js'
export {
  type ConversationOptions,
  type DecodeOptions,
  type EncodedAnswer,
  type EncodedConversation,
  type EncodeOptions,
  type EncodeUpToOptions,
  type LoadTokenizerOptions,
  type TemplateOptions,
  Tokenizer,
  type TurnEnd,
} from './tokenizer.js'
export {
  MIN_VOCAB_SIZE,
  type TrainedTokenizer,
  type TrainProgress,
  type TrainTokenizerOptions,
  trainTokenizer,
} from './train.js'
export { readVocabulary, type Vocabulary, type VocabularyToken } from './vocabulary.js'
