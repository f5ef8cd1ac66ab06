/** Lines of JSON that a reader may meet while they grow, or that a disk may have damaged. */
import { readFile } from 'node:fs/promises';
import { systemProblem } from '../errors/index.js';
import { RunError } from './errors.js';
/** The objects of a file, one a line. The last line counts once it is whole; no file is none. */
export async function readJsonLines(path) {
    const lines = (await contentOf(path)).toString().split('\n').slice(0, -1);
    const objects = [];
    const bad = [];
    for (const [index, line] of lines.entries()) {
        const object = objectOf(line);
        if (object)
            objects.push(object);
        else
            bad.push(index + 1);
    }
    return { objects, bad };
}
/** A file's bytes; none where there is no file. */
export async function contentOf(path) {
    return readFile(path).catch((error) => {
        if (error.code === 'ENOENT')
            return Buffer.alloc(0);
        throw new RunError(`${path}: ${systemProblem(error, 'read')}`, { cause: error });
    });
}
function objectOf(line) {
    try {
        const value = JSON.parse(line);
        return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
    }
    catch {
        return undefined;
    }
}
//# sourceMappingURL=json-lines.js.map