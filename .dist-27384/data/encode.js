/** Rows as token ids: what a trainer computes with, cut or left out where they are too long. */
import { ChatTemplateError, encodeTurns, fitPrompt, promptTurns, } from '../text/index.js';
import { withSystem } from './formats/prompt.js';
const encoders = {
    conversations: encodeConversation,
    preferences: encodePreference,
    labelled: encodeLabelled,
    prompts: encodePromptRow,
};
/** A conversation that the template cannot render is a bad row that only a tokenizer could find. */
export async function encodeRow(kind, row, options) {
    try {
        return await encoders[kind](row, options);
    }
    catch (error) {
        if (error instanceof ChatTemplateError)
            return dropped('template', error.message);
        throw error;
    }
}
async function encodeConversation(row, options) {
    const { ids: whole, mask: wholeMask } = await maskedIds(row, options);
    const { maxLength = Number.POSITIVE_INFINITY, overlong = 'truncate' } = options;
    const truncated = whole.length > maxLength;
    if (truncated && overlong === 'drop')
        return tooLong(whole.length, maxLength);
    const ids = truncated ? whole.slice(0, maxLength) : whole;
    const mask = truncated ? wholeMask.slice(0, maxLength) : wholeMask;
    if (options.trainOn === 'all')
        mask.fill(1);
    mask[0] = 0;
    if (mask.includes(1))
        return { kind: 'example', example: { ids, mask, truncated }, truncated };
    if (!truncated)
        return dropped('nothing-to-train', 'no token of it would be trained');
    return dropped('overlong', `${whole.length} tokens, and none of the first ${maxLength} would be trained`);
}
async function maskedIds(row, options) {
    const { tokenizer } = options;
    if (row.form === 'messages') {
        const { ids, assistantMask } = await tokenizer.encodeConversation(row.messages, row.tools ? { tools: row.tools } : {});
        return { ids, mask: assistantMask };
    }
    if (row.form === 'text') {
        const ids = withEos(await tokenizer.encodePrompt(row.text), tokenizer);
        return { ids, mask: new Uint8Array(ids.length).fill(1) };
    }
    const { prompt, answer } = await encodeAnswer(row.prompt, row.answer, options);
    const ids = joined(prompt, answer);
    return { ids, mask: new Uint8Array(ids.length).fill(1, prompt.length) };
}
async function encodePreference(row, options) {
    const [chosen, rejected] = await Promise.all([
        encodeAnswer(row.prompt, row.chosen, options),
        encodeAnswer(row.prompt, row.rejected, options),
    ]);
    const fitted = await fitBefore(Math.max(chosen.answer.length, rejected.answer.length), chosen, options);
    if (fitted.kind === 'dropped')
        return fitted;
    const { prompt, truncated } = fitted;
    const example = {
        chosen: joined(prompt, chosen.answer),
        rejected: joined(prompt, rejected.answer),
        promptLength: prompt.length,
        ...(row.margin === undefined ? {} : { margin: row.margin }),
    };
    return { kind: 'example', example, truncated };
}
async function encodeLabelled(row, options) {
    const encoded = await encodeAnswer(row.prompt, row.answer, options);
    const { answer } = encoded;
    const fitted = await fitBefore(answer.length, encoded, options);
    if (fitted.kind === 'dropped')
        return fitted;
    const { prompt, truncated } = fitted;
    const example = { ids: joined(prompt, answer), promptLength: prompt.length, desirable: row.desirable };
    return { kind: 'example', example, truncated };
}
/** A prompt stays text or messages: whoever generates from it encodes it, and cuts it where it is to be cut. */
async function encodePromptRow(row, options) {
    const { tokenizer, maxLength, overlong = 'drop' } = options;
    const prompt = asTurns(row.prompt, options);
    if (maxLength !== undefined && overlong === 'drop') {
        const { length } = await encodeTurns(prompt, tokenizer);
        if (length > maxLength)
            return tooLong(length, maxLength);
    }
    const { where: _, ...rest } = row;
    return { kind: 'example', example: { ...rest, prompt }, truncated: false };
}
/** A text prompt is a user's turn where there is a template, behind the system prompt of the config. */
function asTurns(prompt, options) {
    const turns = promptTurns(prompt, options.tokenizer, options.chatTemplate);
    return typeof prompt !== 'string' || typeof turns === 'string' ? turns : withSystem(turns, options);
}
async function encodeAnswer(prompt, answer, options) {
    const { tokenizer, answerEnd } = options;
    const turns = asTurns(prompt, options);
    if (typeof turns === 'string' && typeof answer === 'string') {
        const ids = await tokenizer.encode(answer, { addSpecialTokens: false });
        return { turns, prompt: await tokenizer.encodePrompt(turns), answer: withEos(ids, tokenizer) };
    }
    const messages = typeof turns === 'string' ? withSystem([{ role: 'user', content: turns }], options) : turns;
    const said = typeof answer === 'string' ? [{ role: 'assistant', content: answer }] : answer;
    const encoded = await tokenizer.encodeAnswer(messages, said);
    const { prompt: before, answer: turn, tail } = encoded;
    return { turns: messages, prompt: before, answer: answerEnd === 'template' ? joined(turn, tail) : turn };
}
/** A model has to learn to stop. */
function withEos(ids, { eosId }) {
    return eosId === undefined || ids.at(-1) === eosId ? ids : joined(ids, Int32Array.of(eosId));
}
/** A prompt that leaves room for its answer. Answers are never cut: their end is what they are judged by. */
async function fitBefore(answerLength, { turns, prompt }, { tokenizer, maxLength = Number.POSITIVE_INFINITY, overlong = 'drop' }) {
    const length = prompt.length + answerLength;
    if (length <= maxLength)
        return { kind: 'fits', prompt, truncated: false };
    if (overlong === 'drop')
        return tooLong(length, maxLength);
    const fitted = await fitPrompt(turns, { tokenizer, limit: maxLength - answerLength, side: 'left' });
    return fitted.kind === 'fits' ? { kind: 'fits', prompt: fitted.ids, truncated: true } : tooLong(length, maxLength);
}
const dropped = (reason, message) => ({ kind: 'dropped', reason, message });
const tooLong = (length, maxLength) => dropped('overlong', `${length} tokens, more than the ${maxLength} of maxLength`);
function joined(first, second) {
    const whole = new Int32Array(first.length + second.length);
    whole.set(first);
    whole.set(second, first.length);
    return whole;
}
//# sourceMappingURL=encode.js.map