/** What files are, by their bytes: whether a stage would be trained on the same things again. */
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { systemProblem, WhetstoneError } from '../errors/index.js';
import { fileSha256 } from '../files/index.js';
/** SHA-256 of a file's bytes. */
export async function fileFingerprint(path) {
    return fileSha256(path).catch((cause) => {
        throw new WhetstoneError(`${path}: ${systemProblem(cause, 'read')}`, { cause });
    });
}
/**
 * SHA-256 over the names and bytes of all files of a directory; undefined where there is none. Names with a dot in front are
 * passing. A link is the file it leads to: the cache of the Hugging Face hub has nothing else.
 */
export async function directoryFingerprint(directory) {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => undefined);
    if (!entries)
        return undefined;
    const files = [];
    for (const entry of entries) {
        const path = join(entry.parentPath, entry.name);
        if (await isFileOrLink(entry, path))
            files.push(relative(directory, path).split(sep).join('/'));
    }
    const names = files.filter(name => !name.startsWith('.')).sort();
    if (names.length === 0)
        return undefined;
    const hash = createHash('sha256');
    for (const name of names)
        hash.update(`${name}\n${await fileFingerprint(join(directory, name))}\n`);
    return hash.digest('hex');
}
/** Whether an entry of a directory is a file, or a link to one. */
export async function isFileOrLink(entry, path) {
    if (!entry.isSymbolicLink())
        return entry.isFile();
    return stat(path).then(found => found.isFile(), () => false);
}
/** SHA-256 of a text. */
export function textFingerprint(text) {
    return createHash('sha256').update(text).digest('hex');
}
//# sourceMappingURL=fingerprints.js.map