/**
 * transformers finds the end of a text in a batch as the last token that is not `pad_token_id`, and so asks a reward model one token
 * too early where that token also ends texts (pad = eos). An exported reward model gets a padding that ends no text, in config.json and
 * in the tokenizer's files.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
/**
 * The padding for a reward model in `directory`, which the tokenizer's files are brought in line with. Null where no token can be
 * taken: transformers then refuses batches instead of scoring them wrongly.
 */
export async function separatePadding(directory, config) {
    const tokens = await readTokens(directory, config);
    const usable = ({ id }) => id < Number(config.vocab_size) && !tokens.endings.has(id);
    const found = candidates(tokens).find(token => token !== undefined && usable(token));
    if (!found)
        return null;
    const { id, content } = found;
    if (content !== undefined && tokens.idOf(tokens.tokenizerConfig.pad_token)?.id !== id)
        await writePadding(directory, { id, content });
    return id;
}
async function readTokens(directory, config) {
    const [tokenizer, tokenizerConfig, generation] = await Promise.all(['tokenizer.json', 'tokenizer_config.json', 'generation_config.json'].map(name => readJson(join(directory, name))));
    const template = `${await readText(join(directory, 'chat_template.jinja'))}${JSON.stringify(tokenizerConfig?.chat_template ?? '')}`;
    const decoder = Object.entries((tokenizerConfig?.added_tokens_decoder ?? {}));
    const added = [
        ...(tokenizer?.added_tokens ?? []),
        ...decoder.map(([id, token]) => ({ ...token, id: Number(id) })),
    ];
    const vocabulary = tokenizer?.model?.vocab;
    const byContent = new Map(added.map(({ id, content }) => [content, id]));
    const idOf = (named) => {
        const content = typeof named === 'string' ? named : named?.content;
        if (content === undefined)
            return undefined;
        const id = byContent.get(content) ?? vocabularyId(vocabulary, content);
        return id === undefined ? undefined : { id, content };
    };
    const special = added.filter(token => token.special === true).sort((a, b) => a.id - b.id);
    const stops = [config.eos_token_id, generation?.eos_token_id, idOf(tokenizerConfig?.eos_token)?.id].flat();
    const written = special.filter(({ content }) => template.includes(content)).map(({ id }) => id);
    const endings = new Set([...stops, ...written].filter(id => typeof id === 'number'));
    const bos = idOf(tokenizerConfig?.bos_token);
    // A text does not end as it begins, whatever the template writes.
    if (bos && !stops.includes(bos.id))
        endings.delete(bos.id);
    return {
        ...{ config, special, idOf, endings },
        tokenizerConfig: tokenizerConfig ?? {},
        hasTokenizer: tokenizer !== undefined,
    };
}
function candidates({ config, tokenizerConfig, special, idOf, hasTokenizer }) {
    const configured = (id) => {
        if (typeof id !== 'number')
            return undefined;
        return hasTokenizer ? special.find(token => token.id === id) : { id, content: undefined };
    };
    const named = (pattern) => special.filter(({ content }) => pattern.test(content));
    return [
        idOf(tokenizerConfig.pad_token),
        configured(config.pad_token_id),
        ...named(/pad/i),
        ...named(/reserved|unused/i),
        idOf(tokenizerConfig.unk_token),
        idOf(tokenizerConfig.bos_token),
        configured(config.bos_token_id),
    ];
}
/** A vocabulary is an object of ids, or a list of pieces with their scores. */
function vocabularyId(vocabulary, content) {
    if (Array.isArray(vocabulary)) {
        const at = vocabulary.findIndex(piece => Array.isArray(piece) && piece[0] === content);
        return at < 0 ? undefined : at;
    }
    const id = vocabulary?.[content];
    return typeof id === 'number' ? id : undefined;
}
/** Only the one value is changed: numbers of these files have more digits than a double. */
async function writePadding(directory, { id, content }) {
    const token = /"pad_token"(\s*:\s*)("(?:[^"\\]|\\.)*"|null|\{[^{}]*\})/;
    const path = join(directory, 'tokenizer_config.json');
    const text = (await readText(path)) || '{}';
    const value = JSON.stringify(content);
    const changed = token.test(text)
        ? text.replace(token, (_, colon) => `"pad_token"${colon}${value}`)
        : text.replace('{', () => `{\n  "pad_token": ${value}${/^\s*\{\s*\}/.test(text) ? '\n' : ','}`);
    if (JSON.parse(changed).pad_token !== content)
        throw new Error(`${path}: pad_token could not be set`);
    await writeFile(path, changed);
    await replaceIn(join(directory, 'special_tokens_map.json'), token, colon => `"pad_token"${colon}${value}`);
    const paddingId = /"pad_token_id"(\s*:\s*)(\d+|null)/;
    await replaceIn(join(directory, 'generation_config.json'), paddingId, colon => `"pad_token_id"${colon}${id}`);
}
async function replaceIn(path, pattern, replacement) {
    const text = await readText(path);
    if (pattern.test(text))
        await writeFile(path, text.replace(pattern, (_, colon) => replacement(colon)));
}
/** Empty where there is no such file. */
async function readText(path) {
    return readFile(path, 'utf8').catch((error) => {
        if (error.code === 'ENOENT')
            return '';
        throw error;
    });
}
async function readJson(path) {
    const text = await readText(path);
    return text === '' ? undefined : JSON.parse(text);
}
//# sourceMappingURL=export-padding.js.map