import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import { WhetstoneError } from '../errors/index.js';
/** An operator refused its arguments, or failed. The message names the operator, its arguments, shapes and dtypes. */
export class TensorError extends Error {
    name = 'TensorError';
    /** Where the failing operator was recorded, when it ran inside a program: `file:line:column`. */
    recordedAt;
    constructor(message, options = {}) {
        super(message, options.cause === undefined ? {} : { cause: options.cause });
        this.recordedAt = options.recordedAt;
    }
}
/** A caller's mistake: a value of the wrong type, a disposed tensor, a missing argument. */
export class ArgumentError extends TensorError {
    name = 'ArgumentError';
}
/** The device or the machine has no memory left for what was asked. Nothing was computed. */
export class OutOfMemoryError extends TensorError {
    name = 'OutOfMemoryError';
}
/** A device that this machine does not have. */
export class DeviceError extends WhetstoneError {
    name = 'DeviceError';
}
/** The native bridge is not built, or does not load. */
export class BridgeMissingError extends WhetstoneError {
    name = 'BridgeMissingError';
}
/** Turns what the bridge threw into one of the errors above. */
export function fromNative(thrown) {
    if (!(thrown instanceof Error))
        return new TensorError(String(thrown));
    const { code, where } = thrown;
    const recordedAt = where ? originalPosition(where) : undefined;
    const message = recordedAt ? `${thrown.message}\n  recorded at ${recordedAt}` : thrown.message;
    if (code === 'ERR_ARGUMENT')
        return new ArgumentError(message, { recordedAt });
    if (code === 'ERR_MEMORY')
        return new OutOfMemoryError(message, { recordedAt });
    if (code === 'ERR_OPERATOR')
        return new TensorError(message, { recordedAt });
    return thrown;
}
/** The TypeScript position behind a compiled one, where a source map lies beside the file; read only when an error needs it. */
function originalPosition(where) {
    const match = /^(.*):(\d+):(\d+)$/.exec(where);
    if (!match)
        return where;
    const [, file, line, column] = match;
    const path = file.startsWith('file:') ? fileURLToPath(file) : file;
    try {
        const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')));
        const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
        if ('originalSource' in entry) {
            const source = new URL(entry.originalSource, `file://${path}`);
            return `${fileURLToPath(source)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
        }
    }
    catch {
        // No map: the position as it ran is still the right line of the file that ran.
    }
    return `${path}:${line}:${column}`;
}
//# sourceMappingURL=errors.js.map