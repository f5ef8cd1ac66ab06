import { InputError } from '../errors/index.js';
import { ChatTemplateError, encodeTurns, promptTurns, Tokenizer, tokenIds } from '../text/index.js';
import { parseRow, scoreRow } from './input-rows.js';
/** Turns lines into requests; a bad one is an InputError that says what is wrong, without the line's number. */
export class ScoreInput {
    model;
    config;
    options;
    #tokenizer;
    constructor(model, config, options) {
        this.model = model;
        this.config = config;
        this.options = options;
    }
    async request(text, line) {
        const row = parseRow(scoreRow, text);
        const request = { line, ...(await this.#tokens(row)) };
        const { context } = this.config.decoder;
        if (request.ids.length === 0)
            throw new InputError('no tokens');
        if (request.ids.length > context)
            throw new InputError(`${request.ids.length} tokens, and the model's context is ${context}`);
        return request;
    }
    async #tokens(row) {
        const { vocabSize } = this.config.decoder;
        if (row.kind === 'ids')
            return { ids: checkIds(row.ids, vocabSize), from: 1, mask: undefined };
        // Loaded when a line first needs it: a file of ids needs none.
        const { chatTemplate } = this.options;
        this.#tokenizer ??= Tokenizer.load(this.model, { chatTemplate });
        const tokenizer = await this.#tokenizer;
        const { head } = this.config;
        const encoded = await (row.kind === 'messages'
            ? encodeMessages(tokenizer, row.messages)
            : encodePair(tokenizer, row, { chatTemplate, head })).catch(asInput);
        const large = encoded.ids.findIndex(id => id >= vocabSize);
        if (large >= 0)
            throw new InputError(`the tokenizer gives id ${encoded.ids[large]}, the model's vocabulary ends at ${vocabSize - 1}`);
        if (head === 'score')
            return { ids: encoded.ids, from: 1, mask: undefined };
        return encoded.wanted(encoded.ids);
    }
}
/**
 * The prompt as it is generated from; the response on its own with nothing added: its tokens are the same whatever the prompt ends
 * in. A reward model scores a whole turn, as it was trained on.
 */
async function encodePair(tokenizer, { prompt, response }, { chatTemplate, head }) {
    const turns = promptTurns(prompt, tokenizer, chatTemplate);
    const first = await encodeTurns(turns, tokenizer);
    const said = [{ role: 'assistant', content: response }];
    const turn = head === 'score' && typeof turns !== 'string' ? await tokenizer.encodeAnswer(turns, said) : undefined;
    const second = turn ? [...turn.answer, ...turn.tail] : await tokenizer.encode(response, { addSpecialTokens: false });
    const ids = Int32Array.of(...first, ...second);
    return {
        ids,
        wanted: () => {
            if (first.length === 0)
                throw new InputError('prompt: no tokens, so that nothing comes before the first token of the response');
            return { ids, from: first.length, mask: undefined };
        },
    };
}
async function encodeMessages(tokenizer, messages) {
    const { ids, assistantMask } = await tokenizer.encodeConversation(messages);
    return {
        ids,
        wanted: () => {
            const from = assistantMask.indexOf(1, 1);
            if (from < 0)
                throw new InputError('messages: none by the assistant');
            return { ids, from, mask: assistantMask.slice(from) };
        },
    };
}
/** What the template will not have is wrong with the line. */
function asInput(error) {
    if (error instanceof ChatTemplateError)
        throw new InputError(error.message, { cause: error });
    throw error;
}
function checkIds(ids, vocabSize) {
    try {
        return tokenIds(ids, { vocabSize });
    }
    catch (cause) {
        throw new InputError(`ids: ${cause.message}`, { cause });
    }
}
//# sourceMappingURL=score-input.js.map