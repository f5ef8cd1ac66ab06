import { encodeRow } from './encode.js';
import { DataError } from './errors.js';
import { RowFile } from './files/row-file.js';
import { GrowingList } from './files/row-index.js';
import { summarizeLengths } from './lengths.js';
import { renderExample, renderRow } from './render-row.js';
import { readRowAs } from './row-readers.js';
import { ColumnInference } from './row-schema.js';
import { RowStore } from './row-store.js';
import { findSourceFiles } from './source-files.js';
/** Rows that are looked at for what they are, and bad ones that are listed. */
const listed = 10;
/** Examples that are encoded at once. */
const together = 32;
/**
 * Looks at every row of some files. Bad rows are part of what is found, and no error.
 *
 * @example
 * const options = { ...dataOptionsSchema.parse({}), baseDirectory: '.', rendered: 3 }
 * const { kind, lengths } = await inspectData('train.jsonl', { ...options, tokenizer })
 */
export async function inspectData(spec, options) {
    const found = await findSourceFiles(spec, options.baseDirectory);
    const sample = await firstRows(found, options);
    const kind = options.kind ?? likeliestKind(sample);
    const skippedRows = [];
    const onSkipped = (row) => void (skippedRows.length < listed && skippedRows.push(row));
    const { promptTemplate, systemPrompt, signal } = options;
    const everything = { heldOutShare: 0, maxBadRows: Number.MAX_SAFE_INTEGER };
    const store = await RowStore.open(kind, found, { ...everything, promptTemplate, systemPrompt, onSkipped, signal });
    try {
        const looked = await look(store, options);
        const inference = new ColumnInference();
        for (const { value } of sample)
            if (isObject(value))
                inference.add(value);
        return {
            kind,
            files: store.files.map(({ path, bytes, index }) => ({ path, bytes, rows: index.size })),
            formats: store.formats,
            columns: inference.columns,
            rows: store.rows,
            repeated: store.repeated,
            examples: looked.lengths.count,
            skipped: store.skipped,
            skippedRows,
            unit: options.tokenizer ? 'tokens' : 'characters',
            ...looked,
        };
    }
    finally {
        await store.close();
    }
}
async function look(store, options) {
    const lengths = new GrowingList(Uint32Array);
    const rendered = [];
    const total = store.examples.reduce((sum, { length }) => sum + length, 0);
    let done = 0;
    for (const list of store.examples)
        for (let from = 0; from < list.length; from += together) {
            options.signal?.throwIfAborted();
            const places = Array.from({ length: Math.min(together, list.length - from) }, (_, i) => from + i);
            const rows = await Promise.all(places.map(async (place) => {
                const row = await store.read(list, place);
                const shown = await lookAt(store.kind, row, options);
                // Rows that only a tokenizer finds something wrong with.
                if ('reason' in shown)
                    store.drop({ where: row.where, ...shown }, list, place);
                return shown;
            }));
            for (const row of rows) {
                if ('reason' in row)
                    continue;
                lengths.push(row.length);
                if (rendered.length < options.rendered)
                    rendered.push(await row.render());
            }
            done += places.length;
            options.onProgress?.(done, total);
        }
    return { lengths: summarizeLengths(Uint32Array.from({ length: lengths.length }, (_, i) => lengths.at(i))), rendered };
}
async function lookAt(kind, { row, where }, { tokenizer, ...options }) {
    if (!tokenizer) {
        const rendered = renderRow(kind, row, options);
        return { length: rendered.length, render: () => ({ where, ...rendered }) };
    }
    const encoded = await encodeRow(kind, row, { ...options, tokenizer });
    if (encoded.kind === 'dropped')
        return { reason: encoded.reason, message: encoded.message };
    const rendering = renderExample(kind, encoded.example, tokenizer);
    return { length: await rendering.length(), render: async () => ({ where, ...(await rendering.render()) }) };
}
/** Rows are of the first of these that takes half of them: what has more columns than another comes before it. */
const kinds = ['preferences', 'labelled', 'conversations', 'prompts'];
async function firstRows({ files, sources }, options) {
    const [{ path, shown, source }] = files;
    const { columns = {} } = sources[source];
    const file = await RowFile.open(path, { shown, signal: options.signal, wanted: listed });
    const rows = [];
    try {
        for await (const batch of file.scan()) {
            for (const { where, parsed } of batch) {
                if (parsed.kind === 'bad')
                    continue;
                const { value } = parsed;
                const problems = {};
                for (const kind of kinds) {
                    const read = readRowAs(kind, { value, where }, { ...options, columns, values: file.values });
                    if (read.kind === 'bad')
                        problems[kind] = read.message;
                }
                rows.push({ value, problems });
            }
            if (rows.length >= listed)
                break;
        }
    }
    finally {
        await file.close();
    }
    return rows;
}
function likeliestKind(rows) {
    if (rows.length === 0)
        return 'prompts';
    // Lines of bare text could be trained on as well; they are prompts unless told otherwise.
    if (rows.every(({ value }) => typeof value === 'string'))
        return 'prompts';
    const fits = kinds.map(kind => rows.filter(({ problems }) => problems[kind] === undefined).length);
    const half = fits.findIndex(count => 2 * count >= rows.length);
    const most = half >= 0 ? half : fits.indexOf(Math.max(...fits));
    if (fits[most] > 0)
        return kinds[most];
    const columns = isObject(rows[0].value) ? Object.keys(rows[0].value).join(', ') : '';
    throw new DataError(`rows are of no kind that is known; the first has ${columns || 'no columns'}. Say which column is which (columns), such as prompt=question, or which kind it is (kind) to see what is wrong`);
}
function isObject(value) {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
}
//# sourceMappingURL=inspect.js.map