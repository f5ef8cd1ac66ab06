/** Conversations written as one text, as in Anthropic's HH-RLHF: `\n\nHuman: ...\n\nAssistant: ...`. */
import type { ChatMessage } from '../../text/index.js';
export declare const isTranscript: (text: string) => boolean;
/** Turns in order; those that follow one of the same speaker are joined to it, as templates want speakers to alternate. */
export declare function readTranscript(text: string): ChatMessage[];
