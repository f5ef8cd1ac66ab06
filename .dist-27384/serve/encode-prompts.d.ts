import type { Exchange, Served } from './exchange.js';
import type { tokenizeFields } from './field-tables.js';
import type { FieldsOf } from './request-shape.js';
export interface TextOptions {
    addSpecialTokens: boolean;
    /** More than the context may be encoded where it is then cut, or only counted; not any amount. */
    use: 'whole' | 'cut';
}
export declare function encodeText({ encoder, limits: { maxLength } }: Served, text: string, { addSpecialTokens, use }: TextOptions, { signal }: Exchange): Promise<Int32Array>;
export type ConversationFields = Pick<FieldsOf<typeof tokenizeFields>, 'messages' | 'tools' | 'documents' | 'add_generation_prompt' | 'continue_final_message' | 'add_special_tokens' | 'chat_template_kwargs'>;
/** The ids of a conversation; what is wrong with it is the client's to mend. */
export declare function encodeMessages(served: Served, fields: ConversationFields, use: TextOptions['use'], exchange: Exchange): Promise<Int32Array>;
