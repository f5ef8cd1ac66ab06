import { type ErrorCode, WhetstoneError } from '../errors/index.js'

/** A tokenizer directory, or a file given to make one, that cannot be used as it is. The message names the file. */
export class TokenizerError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_TOKENIZER'
  override name = 'TokenizerError'
}

/** Messages a chat template cannot render, or a template that is itself wrong. */
export class ChatTemplateError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_CHAT_TEMPLATE'
  override name = 'ChatTemplateError'
  /** Index of the message to look at, where one message is the cause. */
  readonly messageIndex: number | undefined

  constructor(message: string, options: { messageIndex?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.messageIndex = options.messageIndex
  }
}
