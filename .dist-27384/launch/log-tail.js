import { open } from 'node:fs/promises';
import { stripVTControlCharacters } from 'node:util';
const keep = 64 * 1024;
/** The last lines of a log; none where it cannot be read. Colours and lines redrawn in place are left out. */
export async function lastLines(path, count) {
    const handle = await open(path, 'r').catch(() => undefined);
    if (handle === undefined)
        return [];
    try {
        const { size } = await handle.stat();
        const length = Math.min(size, keep);
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
        return buffer
            .toString('utf8', 0, bytesRead)
            .split('\n')
            .map(line => plain(line.split('\r').findLast(part => part !== '') ?? ''))
            .filter(line => line !== '')
            .slice(-count);
    }
    finally {
        await handle.close();
    }
}
const plain = (line) => stripVTControlCharacters(line)
    .replace(/\p{Cc}/gu, '')
    .trimEnd();
/** Shorter ones would take ordinary words out of a log; nobody's key is that short. */
const shortestSecret = 4;
/**
 * Writes asterisks over a secret, wherever a log has it: SGLang prints all it was started with, its key too. Whoever still writes
 * to the log appends.
 */
export async function hideInLog(path, secret) {
    if (secret === undefined || secret.length < shortestSecret)
        return;
    const handle = await open(path, 'r+').catch(() => undefined);
    if (handle === undefined)
        return;
    try {
        const log = await handle.readFile();
        const hidden = Buffer.alloc(Buffer.byteLength(secret), '*');
        for (let at = log.indexOf(secret); at >= 0; at = log.indexOf(secret, at + hidden.length))
            await handle.write(hidden, 0, hidden.length, at);
    }
    finally {
        await handle.close();
    }
}
//# sourceMappingURL=log-tail.js.map