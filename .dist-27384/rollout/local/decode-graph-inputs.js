/**
 * What steps that follow one another on a CUDA device start from, as one array: one copy brings all of it there. Pure.
 *
 * A graph has a fixed number of rows and fixed addresses, so a batch is filled up to one of a few sizes, and each size has its
 * own places in the array.
 */
import { partsFrom, putSamplingRows, samplingParts } from './graph-inputs.js';
/** Numbers of rows there are graphs for. All of them whole numbers of 4: kernels want every part to start at 16 bytes. */
const buckets = [4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024];
/** The least number of rows of a graph that has room for so many. */
export function bucketFor(rows) {
    return buckets.find(size => size >= rows) ?? Math.ceil(rows / 512) * 512;
}
export function decodeLayout(rows) {
    const { part, end } = partsFrom(0);
    const parts = {
        rows,
        width: part(4),
        ids: part(rows),
        positions: part(rows),
        budgets: part(rows),
        left: part(rows),
        ...samplingParts(part, rows),
    };
    return { ...parts, blockTable: end() };
}
/** The words of a table with so many sequences and blocks of each. */
export const decodeWords = (layout, blockTableWords) => layout.blockTable + blockTableWords;
/** Padding rows, for a graph that is being captured. */
export function emptyDecodeInputs(layout) {
    const state = new Int32Array(decodeWords(layout, 0));
    state.fill(-1, layout.positions.at, layout.positions.at + layout.positions.words);
    return state;
}
/** A batch whose every row is the last token of a sequence and draws the next; `budgets` says how many it may draw. */
export function fillDecodeInputs(layout, batch, budgets) {
    const { samplingRows, blockTable, blockTableWidth } = batch;
    const { count } = samplingRows;
    if (count > layout.rows)
        throw new RangeError(`${count} rows do not fit ${layout.rows}`);
    const state = new Int32Array(decodeWords(layout, count * blockTableWidth));
    state[layout.width.at] = blockTableWidth;
    state.fill(-1, layout.positions.at, layout.positions.at + layout.rows);
    const put = ({ at }, values) => state.set(values.subarray(0, count), at);
    put(layout.ids, batch.ids);
    put(layout.positions, batch.kvPositions);
    put(layout.budgets, budgets);
    put(layout.left, budgets);
    putSamplingRows(state, layout, samplingRows);
    state.set(blockTable.subarray(0, count * blockTableWidth), layout.blockTable);
    return state;
}
//# sourceMappingURL=decode-graph-inputs.js.map