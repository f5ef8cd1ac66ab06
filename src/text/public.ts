/** Tokenizers and chat templates. */
export {
  type ChatContentPart,
  type ChatMessage,
  type ChatOptions,
  ChatTemplate,
  ChatTemplateError,
  type DecodeOptions,
  type EncodeOptions,
  embeddingRows,
  type LoadTokenizerOptions,
  type TokenIds,
  Tokenizer,
  TokenizerError,
  type TrainTokenizerOptions,
  tokenIds,
  trainTokenizer,
} from './index.js'
