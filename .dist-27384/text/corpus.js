import { extname } from 'node:path';
import { numberedLines } from '../files/index.js';
import { TokenizerError } from './errors.js';
/** Texts are cut about here, so that a book in one file does not become one string. */
const BLOCK_CHARACTERS = 65_536;
/**
 * The texts in a file: of `.txt` and `.md`, blocks of whole lines; of `.jsonl`, every string value of every row, however deep, so
 * that both `{"text": ...}` and `{"messages": [...]}` work. Anything else is an error that names file and line.
 */
export async function* readTexts(file) {
    const kind = extname(file).toLowerCase();
    if (kind === '.txt' || kind === '.md')
        yield* blocks(file);
    else if (kind === '.jsonl')
        yield* rowStrings(file);
    else
        throw new TokenizerError(`${file}: expected a .txt, .md or .jsonl file`);
}
async function* blocks(file) {
    let block = '';
    for await (const { text } of numberedLines(file, { ends: 'keep' })) {
        // Only cut where a line begins with something visible: runs of blank space are tokens of their own.
        if (block.length >= BLOCK_CHARACTERS && /^\S/.test(text)) {
            yield block;
            block = '';
        }
        block += text;
    }
    if (block !== '')
        yield block;
}
async function* rowStrings(file) {
    for await (const { text, line } of numberedLines(file, { ends: 'keep' })) {
        if (text.trim() === '')
            continue;
        let row;
        try {
            row = JSON.parse(text);
        }
        catch (cause) {
            throw new TokenizerError(`${file}:${line}: expected a JSON object, got: ${cause.message}`, { cause });
        }
        const strings = typeof row === 'object' && row !== null && !Array.isArray(row) ? [...stringsIn(row)] : [];
        if (strings.length === 0) {
            throw new TokenizerError(`${file}:${line}: expected a JSON object with at least one string in it`);
        }
        yield* strings;
    }
}
function* stringsIn(value) {
    if (typeof value === 'string')
        yield value;
    else if (typeof value === 'object' && value !== null)
        for (const item of Object.values(value))
            yield* stringsIn(item);
}
//# sourceMappingURL=corpus.js.map