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
export { bpeModel } from './bpe-model.js'
export type { ChatContentPart, ChatMessage } from './chat-messages.js'
export { type ChatOptions, ChatTemplate, type TextSpan } from './chat-template.js'
export { embeddingRows } from './embedding-rows.js'
export { ChatTemplateError, TokenizerError } from './errors.js'
export { tokenizerFingerprint } from './fingerprint.js'
export { encodeTurns, fitPrompt, promptTurns, type TextPrompt } from './fit-prompt.js'
export { chatTemplateWords, templateUse } from './given-template.js'
export { callingTurn, type JunctionCheck, Junctions, resultOf, startsWith } from './junctions.js'
export { type MediaColumns, type PlacedMedia, placedTypes, placeMedia } from './place-media.js'
export { spacelessCharacter } from './scripts.js'
export { type TokenIds, tokenIds } from './token-ids.js'
export { type TokenReader, tokenReader } from './token-reader.js'
export * from './tokenizer.js'
export {
  type ParsedCall,
  type ParsedTurn,
  parseTurn,
  type ToolFormat,
  templateMessages,
  toolFormatOf,
  turnText,
} from './tool-calls/index.js'
export * from './train.js'
export { readVocabulary, type Vocabulary } from './vocabulary.js'
