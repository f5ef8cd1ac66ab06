/** Text and conversations of requests as token ids; what cannot fit the context is refused before it is encoded whole. */
import { ChatTemplateError } from '../text/index.js';
import { badRequest } from './errors.js';
import { tooLong } from './run-request.js';
/** Contexts a text that is cut, or only counted, may have. */
const cutContexts = 8;
export async function encodeText({ encoder, limits: { maxLength } }, text, { addSpecialTokens, use }, { signal }) {
    const maxTokens = use === 'cut' ? cutContexts * maxLength : maxLength;
    const encoding = await encoder.encode(text, { addSpecialTokens, maxTokens, signal });
    if (encoding.kind === 'encoded')
        return encoding.ids;
    const found = `at least ${encoding.atLeast}`;
    if (use === 'whole')
        throw tooLong(found, maxLength);
    throw badRequest(`a text may have ${maxTokens} tokens before it is cut, this one has ${found}.`, 'input_tokens');
}
/** What a template renders in a tenth of a second. */
const mostMessages = 2048;
/** The ids of a conversation; what is wrong with it is the client's to mend. */
export async function encodeMessages(served, fields, use, exchange) {
    const { tokenizer, limits } = served;
    if (!tokenizer)
        throw badRequest('this model has no tokenizer, and so no chat.', 'messages');
    const messages = (fields.messages ?? []);
    const most = Math.min(mostMessages, limits.maxLength);
    if (messages.length > most)
        throw badRequest(`a conversation may have ${most} messages, this one has ${messages.length}.`, 'messages');
    let text;
    try {
        text = render(tokenizer, messages, fields);
    }
    catch (error) {
        if (error instanceof ChatTemplateError)
            throw badRequest(error.message, 'messages');
        throw error;
    }
    return encodeText(served, text, { addSpecialTokens: fields.add_special_tokens ?? false, use }, exchange);
}
function render(tokenizer, messages, fields) {
    const continueFinalMessage = fields.continue_final_message ?? false;
    const plain = {
        addGenerationPrompt: fields.add_generation_prompt ?? !continueFinalMessage,
        continueFinalMessage,
        variables: fields.chat_template_kwargs ?? {},
    };
    const { tools = [], documents = [] } = fields;
    let options = plain;
    let text = '';
    // Each is worth nothing where the template leaves it out, and the answer would look as if it were not.
    for (const [name, given] of [
        ['tools', tools],
        ['documents', documents],
    ]) {
        if (given.length === 0)
            continue;
        const without = tokenizer.renderChat(messages, options);
        options = { ...options, [name]: given };
        text = tokenizer.renderChat(messages, options);
        if (text === without)
            throw badRequest(`${name}: this model's chat template does not use them.`, name);
    }
    return text || tokenizer.renderChat(messages, options);
}
//# sourceMappingURL=encode-prompts.js.map