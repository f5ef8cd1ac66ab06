import { WhetstoneError } from '../errors/index.js';
/** A tokenizer directory, or a file given to make one, that cannot be used as it is. The message names the file. */
export class TokenizerError extends WhetstoneError {
    name = 'TokenizerError';
}
/** Messages a chat template cannot render, or a template that is itself wrong. */
export class ChatTemplateError extends WhetstoneError {
    name = 'ChatTemplateError';
    /** Index of the message to look at, where one message is the cause. */
    messageIndex;
    constructor(message, options = {}) {
        super(message, { cause: options.cause });
        this.messageIndex = options.messageIndex;
    }
}
//# sourceMappingURL=errors.js.map