import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { systemProblem } from '../errors/index.js';
import { recoverDirectory } from '../files/index.js';
import { checkPipeline } from './check-pipeline.js';
import { TokenizerError } from './errors.js';
import { isObject } from './json.js';
import { effectivePipeline } from './llama-pipeline.js';
export async function readTokenizerFiles(dir) {
    await recoverDirectory(dir);
    const tokenizerPath = join(dir, 'tokenizer.json');
    const tokenizerText = await readOptional(tokenizerPath);
    if (tokenizerText === undefined) {
        throw new TokenizerError(`${tokenizerPath}: not found. A tokenizer directory needs a tokenizer.json (vocab.txt, merges.txt and SentencePiece ` +
            'models alone are not read: save the tokenizer with transformers to get one).');
    }
    const [tokenizerConfig, specialTokensMap, generationConfig, modelConfig] = await Promise.all([
        readJson(join(dir, 'tokenizer_config.json')),
        readJson(join(dir, 'special_tokens_map.json')),
        readJson(join(dir, 'generation_config.json')),
        readJson(join(dir, 'config.json')),
    ]);
    const written = parseJson(tokenizerPath, tokenizerText);
    checkPipeline(tokenizerPath, written);
    const tokenizer = effectivePipeline({ tokenizer: written, tokenizerConfig, modelConfig });
    return {
        dir,
        tokenizer,
        // Where nothing is changed, the file as it was read: numbers keep every digit they were written with.
        tokenizerText: tokenizer === written ? tokenizerText : JSON.stringify(tokenizer),
        tokenizerConfig,
        specialTokensMap,
        generationConfig,
        modelConfig,
        chatTemplates: await readChatTemplates(dir, tokenizerConfig),
    };
}
/**
 * Template files replace the ones in `tokenizer_config.json` altogether, as in transformers: `chat_template.jinja` is the
 * default, each `additional_chat_templates/NAME.jinja` a named one. `chat_template.json`, the older file of multimodal
 * processors, comes before the config and after the `.jinja` files.
 */
async function readChatTemplates(dir, config) {
    const templates = new Map();
    const path = join(dir, 'chat_template.jinja');
    const main = await readOptional(path);
    if (main !== undefined)
        templates.set('default', { source: main, path });
    const extraDir = join(dir, 'additional_chat_templates');
    for (const name of (await listOptional(extraDir)).filter(file => file.endsWith('.jinja')).sort()) {
        const extra = join(extraDir, name);
        templates.set(basename(name, '.jinja'), { source: await readFile(extra, 'utf8'), path: extra });
    }
    if (templates.size > 0)
        return templates;
    const processorFile = join(dir, 'chat_template.json');
    const processor = await readJson(processorFile);
    if (processor.chat_template != null)
        return namedTemplates(processorFile, processor.chat_template);
    return namedTemplates(join(dir, 'tokenizer_config.json'), config.chat_template);
}
function namedTemplates(path, value) {
    if (value === undefined || value === null)
        return new Map();
    if (typeof value === 'string')
        return new Map([['default', { source: value, path }]]);
    if (Array.isArray(value)) {
        return new Map(value.map((entry, i) => {
            if (isObject(entry) && typeof entry.name === 'string' && typeof entry.template === 'string') {
                return [entry.name, { source: entry.template, path }];
            }
            throw new TokenizerError(`${path}: chat_template[${i}]: expected {"name": string, "template": string}`);
        }));
    }
    throw new TokenizerError(`${path}: chat_template: expected a string or a list of named templates`);
}
/** A file that is absent says nothing, so it reads as an empty object. */
async function readJson(path) {
    const text = await readOptional(path);
    return text === undefined ? {} : parseJson(path, text);
}
function parseJson(path, text) {
    let value;
    try {
        value = JSON.parse(text);
    }
    catch (cause) {
        throw new TokenizerError(`${path}: not valid JSON (${cause.message}). Is the download complete?`, {
            cause,
        });
    }
    if (!isObject(value))
        throw new TokenizerError(`${path}: expected a JSON object`);
    return value;
}
async function readOptional(path) {
    try {
        return await readFile(path, 'utf8');
    }
    catch (cause) {
        if (isMissing(cause))
            return undefined;
        throw new TokenizerError(`${path}: ${systemProblem(cause, 'read')}`, { cause });
    }
}
async function listOptional(dir) {
    try {
        return await readdir(dir);
    }
    catch (cause) {
        if (isMissing(cause))
            return [];
        throw new TokenizerError(`${dir}: ${systemProblem(cause, 'read')}`, { cause });
    }
}
function isMissing(error) {
    const code = error.code;
    return code === 'ENOENT' || code === 'ENOTDIR';
}
//# sourceMappingURL=tokenizer-files.js.map