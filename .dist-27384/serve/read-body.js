import { ApiError, malformed } from './errors.js';
import { JsonScan } from './json-scan.js';
/** Deep enough for any schema of a tool, not for a stack. */
const shape = { depth: 64, containers: 200_000 };
const closing = { headers: { connection: 'close' } };
/** The bytes of the body, checked as they come. One that is too large or too slow is not read to its end. */
export async function readBody(request, limits, account) {
    const { headers } = request;
    if (!/^application\/json\b/i.test(headers['content-type'] ?? ''))
        throw malformed('the Content-Type must be application/json');
    const { maxBytes } = limits;
    const tooLarge = () => new ApiError(413, `the body is larger than ${maxBytes} bytes`, closing);
    if (Number(headers['content-length'] ?? 0) > maxBytes)
        throw tooLarge();
    const scan = new JsonScan(shape);
    const parts = [];
    let size = 0;
    let refused;
    const take = (part) => {
        size += part.length;
        if (size > maxBytes)
            throw tooLarge();
        if (refused)
            return;
        try {
            const wrong = scan.push(part);
            if (wrong !== undefined)
                throw malformed(`the body is refused: ${wrong}`, 'body');
            account.take(part.length);
            parts.push(part);
        }
        catch (error) {
            // The rest is read and dropped, so that the client, which still sends, gets to see the answer.
            refused = error;
            parts.length = 0;
        }
    };
    await arrival(request, take, ms => {
        const counted = ms - limits.graceMs;
        if (counted <= 0 || size >= (counted / 1000) * limits.minBytesPerSecond)
            return;
        const rate = `at least ${limits.minBytesPerSecond} in a second have to`;
        throw new ApiError(408, `${size} bytes of the body came in ${Math.round(ms)} ms; ${rate}`, closing);
    });
    if (refused)
        throw refused;
    return Buffer.concat(parts, size);
}
/** Resolves when all has come. What `take` or `watch`, which is told how long it has taken, throws ends the reading. */
function arrival(request, take, watch) {
    const started = performance.now();
    return new Promise((resolve, reject) => {
        const stop = () => {
            clearInterval(timer);
            request.off('data', onData).off('end', onEnd).off('error', fail).off('close', onClose);
        };
        const fail = (error) => {
            stop();
            request.pause();
            reject(error);
        };
        const onEnd = () => {
            stop();
            resolve();
        };
        const onClose = () => fail(new Error('the client has gone'));
        const attempt = (work) => {
            try {
                work();
            }
            catch (error) {
                fail(error);
            }
        };
        const onData = (part) => attempt(() => take(part));
        const timer = setInterval(() => attempt(() => watch(performance.now() - started)), 100);
        request.on('data', onData).on('end', onEnd).on('error', fail).on('close', onClose);
    });
}
/** The object a body is. */
export function parseBody(bytes) {
    let value;
    try {
        value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    }
    catch (error) {
        const what = error instanceof SyntaxError ? error.message : 'the body is not UTF-8';
        throw malformed(`JSON decode error: ${what}`, 'body');
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
        throw malformed('Input should be a valid dictionary', 'body');
    return value;
}
//# sourceMappingURL=read-body.js.map