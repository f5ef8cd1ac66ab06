export { ChatTemplate } from './chat-template.js';
export { embeddingRows } from './embedding-rows.js';
export { ChatTemplateError, TokenizerError } from './errors.js';
export { tokenizerFingerprint } from './fingerprint.js';
export { encodeTurns, fitPrompt, promptTurns, } from './fit-prompt.js';
export { chatTemplateWords, templateUse } from './given-template.js';
export { spacelessCharacter } from './scripts.js';
export { tokenIds } from './token-ids.js';
export { tokenReader } from './token-reader.js';
export { Tokenizer, } from './tokenizer.js';
export { MIN_VOCAB_SIZE, trainTokenizer, } from './train.js';
//# sourceMappingURL=index.js.map