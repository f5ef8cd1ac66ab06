import { parseJson } from './row-format.js';
import { lineBoundary } from './row-splitter.js';
/** `named`: what messages call a row by. */
export function jsonLines(named = 'line') {
    return {
        boundary: lineBoundary(),
        values: 'typed',
        named,
        parse: text => (text.trim() === '' ? { kind: 'blank' } : parseJson(text)),
        atEnd: () => undefined,
    };
}
/** A line of text is a row; empty lines part paragraphs, and are none. */
export function textLines() {
    return {
        boundary: lineBoundary(),
        values: 'typed',
        named: 'line',
        parse: text => {
            const line = text.replace(/\r?\n$/, '');
            return line.trim() === '' ? { kind: 'none' } : { kind: 'row', value: line };
        },
        atEnd: () => undefined,
    };
}
//# sourceMappingURL=lines.js.map