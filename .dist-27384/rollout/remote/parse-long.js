/**
 * JSON that is too long for one go: parsed a little at a time, so that others have their turn. An answer of 32,000 tokens with
 * log-probabilities has 4 MB, which `JSON.parse` takes 30 ms for, and hundreds of them may come at once.
 */
import { ProtocolError } from './errors.js';
import { inTurn } from './in-turn.js';
/** Characters that `JSON.parse` gets at once. */
const slice = 128 << 10;
const turn = () => inTurn(() => { });
/** Whatever its length; `JSON.parse` at once where that is short. */
export function parseJson(text) {
    return isLong(text) ? parseLong(text) : inTurn(() => parseShort(text));
}
export const isLong = (text) => text.length > 2 * slice;
export function parseShort(text) {
    try {
        return JSON.parse(text);
    }
    catch {
        const hint = /\b(NaN|Infinity)\b/.test(text) ? '; it has numbers that are not finite' : '';
        throw new ProtocolError(`the answer is not JSON (${text.length} characters)${hint}`);
    }
}
/**
 * Arrays and objects that are long themselves are taken apart; their items, and what is short, go to `JSON.parse` as they are,
 * many at once.
 */
export async function parseLong(text, most = slice) {
    const ends = await longEnds(text, most);
    const parseValue = async (start, end) => {
        const at = skipSpace(text, start);
        const close = ends.get(at);
        if (close === undefined)
            return parseShort(text.slice(start, end));
        if (skipSpace(text, close + 1) < end)
            throw new ProtocolError('the answer is not JSON');
        const isObject = text[at] === '{';
        const open = isObject ? '{' : '[';
        const shut = isObject ? '}' : ']';
        const list = [];
        const record = {};
        const take = (part) => {
            if (isObject)
                for (const [key, value] of Object.entries(part))
                    put(record, key, value);
            else
                for (const item of part)
                    list.push(item);
        };
        // Items from `from` on that wait to be parsed together; `seek` is where the next one begins.
        let from = at + 1;
        let seek = from;
        const flush = async (to) => {
            const some = text.slice(from, to);
            if (some.trim() !== '')
                take(parseShort(open + some + shut));
            await turn();
        };
        while (seek < close) {
            let stop = itemEnd(text, seek, close, ends);
            const inner = isObject ? valueStart(text, seek, stop) : skipSpace(text, seek);
            if (ends.has(inner)) {
                if (from < seek)
                    await flush(seek - 1);
                const value = await parseValue(inner, stop);
                if (isObject)
                    put(record, keyOf(text.slice(seek, inner)), value);
                else
                    list.push(value);
                from = stop + 1;
            }
            else if (stop - from > most) {
                await flush(stop);
                from = stop + 1;
            }
            if (stop >= close) {
                if (from < close)
                    await flush(close);
                stop = close;
            }
            seek = stop + 1;
        }
        return isObject ? record : list;
    };
    return parseValue(0, text.length);
}
/** Where arrays and objects of more than `most` characters begin and end. */
async function longEnds(text, most) {
    const ends = new Map();
    const starts = [];
    for (let i = 0, pause = most; i < text.length; i++) {
        if (i >= pause) {
            pause = i + 8 * most;
            await turn();
        }
        const code = text.charCodeAt(i);
        if (code === 0x22)
            i = stringEnd(text, i);
        else if (code === 0x5b || code === 0x7b)
            starts.push(i);
        else if (code === 0x5d || code === 0x7d) {
            const start = starts.pop();
            if (start === undefined)
                break;
            if (i - start > most)
                ends.set(start, i);
        }
    }
    return ends;
}
/** The index of the quote that ends the string which begins at `start`. */
function stringEnd(text, start) {
    for (let i = text.indexOf('"', start + 1); i >= 0; i = text.indexOf('"', i + 1)) {
        let slashes = 0;
        while (text.charCodeAt(i - 1 - slashes) === 0x5c)
            slashes++;
        if (slashes % 2 === 0)
            return i;
    }
    return text.length;
}
/** The comma after the item that begins at `start`, or the container's end. */
function itemEnd(text, start, close, ends) {
    let depth = 0;
    for (let i = start; i < close; i++) {
        const code = text.charCodeAt(i);
        if (code === 0x22)
            i = stringEnd(text, i);
        else if (code === 0x5b || code === 0x7b) {
            const known = ends.get(i);
            if (known === undefined)
                depth++;
            else
                i = known;
        }
        else if (code === 0x5d || code === 0x7d)
            depth--;
        else if (code === 0x2c && depth === 0)
            return i;
    }
    return close;
}
/** Where the value of an object's item begins: after its key. */
function valueStart(text, start, end) {
    const at = skipSpace(text, start);
    if (text[at] !== '"')
        return at;
    const colon = text.indexOf(':', stringEnd(text, at));
    return colon < 0 || colon > end ? at : skipSpace(text, colon + 1);
}
/** Also a key that means something else in an assignment. */
function put(record, key, value) {
    if (key === '__proto__')
        Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
    else
        record[key] = value;
}
function keyOf(text) {
    const [key] = Object.keys(parseShort(`{${text}0}`));
    return key ?? '';
}
function skipSpace(text, start) {
    let i = start;
    while (i < text.length && text.charCodeAt(i) <= 0x20)
        i++;
    return i;
}
//# sourceMappingURL=parse-long.js.map