import { setImmediate } from 'node:timers/promises';
import { untilDrained } from './until-drained.js';
/** A list whose items come in batches; each may hold lists like it. */
export class LazyList {
    batches;
    constructor(batches) {
        this.batches = batches;
    }
}
/** Characters that are sent at once. */
const pieceSize = 64 << 10;
/** Sends `value` as the body of a 200. Ends without a word where the client has gone. */
export async function writeJson(response, value, options) {
    const type = { 'content-type': 'application/json' };
    let text = '';
    let started = false;
    const flush = async () => {
        if (text.length < pieceSize)
            return;
        options.signal.throwIfAborted();
        if (!started)
            response.writeHead(200, type);
        started = true;
        const taken = response.write(text);
        text = '';
        if (!taken)
            await untilDrained(response, options);
        // A client that takes everything at once would keep the others out.
        await setImmediate();
    };
    const write = async (part) => {
        if (part instanceof LazyList) {
            text += '[';
            let separator = '';
            for await (const batch of part.batches()) {
                for (const item of batch) {
                    text += separator;
                    separator = ',';
                    if (hasLazyList(item))
                        await write(item);
                    else
                        text += JSON.stringify(item);
                }
                await flush();
            }
            text += ']';
        }
        else if (hasLazyList(part)) {
            let separator = '{';
            for (const [name, field] of Object.entries(part)) {
                if (field === undefined)
                    continue;
                text += `${separator}${JSON.stringify(name)}:`;
                separator = ',';
                await write(field);
            }
            text += '}';
        }
        else
            text += JSON.stringify(part);
    };
    await write(value);
    if (response.destroyed)
        return;
    if (!started)
        response.writeHead(200, { ...type, 'content-length': Buffer.byteLength(text) });
    response.end(text);
}
/** Lists are leaves: one that is to be written piece by piece is lazy itself. */
function hasLazyList(value) {
    if (value instanceof LazyList)
        return true;
    if (typeof value !== 'object' || value === null || Array.isArray(value))
        return false;
    for (const name in value)
        if (hasLazyList(value[name]))
            return true;
    return false;
}
//# sourceMappingURL=write-json.js.map