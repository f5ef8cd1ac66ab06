import type { ChatMessage } from './chat-messages.js';
import type { TextSpan } from './chat-template.js';
/**
 * What the assistant wrote in a conversation whose template has no `{% generation %}` blocks, found by comparing
 * renderings: the text after "everything before this message, with the generation prompt" up to the end of "everything
 * up to this message". That is only meaningful when each rendering begins the next, which is verified.
 *
 * A span holds the content and the end-of-turn token, as templates with `{% generation %}` mark it: the model has to
 * learn to stop. Whitespace after the end-of-turn token belongs to the template and is left out; where a template ends a
 * turn with no special token, whatever it writes there is how the turn ends and stays in.
 */
export declare function spansByPrefix(messages: readonly ChatMessage[], render: (messages: readonly ChatMessage[], options: {
    addGenerationPrompt: boolean;
}) => string, specialTokens: readonly string[]): {
    text: string;
    spans: TextSpan[];
};
/** Where the assistant's turn ends in `turn`: after the last special token, unless text follows it. */
export declare function endOfTurn(turn: string, specialTokens: readonly string[]): number;
/**
 * One per token that starts inside a span. `offsets` are the tokenizer's, in code points of `text`; spans are in UTF-16
 * units, so spans are converted.
 *
 * A token that begins before a span and reaches into it is not the assistant's: after the prompt's own tokens no model
 * could have produced it. A character of several tokens (an emoji in byte-level BPE) gives them all the same offsets, so
 * they are all in or all out.
 */
export declare function maskFromSpans(text: string, offsets: readonly (readonly number[])[], spans: readonly TextSpan[]): Uint8Array;
