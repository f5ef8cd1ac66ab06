/**
 * The one directory that clients may have weights read from. A path is looked at as it is written before the disk is, so that
 * nothing can be learnt of files elsewhere, and again after every symbolic link in it, and in the directory it names, was followed.
 */
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { InputError } from '../../errors/index.js';
import { ApiError, badRequest } from '../errors.js';
export class WeightsRoot {
    given;
    real;
    constructor(
    /** As it was given, and with its links followed. */
    given, real) {
        this.given = given;
        this.real = real;
    }
    static async open(directory) {
        const given = resolve(directory);
        const real = await realpath(given).catch(() => undefined);
        if (real === undefined || !(await stat(real)).isDirectory())
            throw new InputError(`the root of weights ${directory} is not a directory`);
        return new WeightsRoot(given, real);
    }
    /** A directory inside, by its real path. `path`: absolute, or from the root on. */
    async resolve(path) {
        if (path === '' || path.includes('\0'))
            throw badRequest('expected the path of a directory.');
        const asked = resolve(this.given, path);
        if (!isInside(this.given, asked) && !isInside(this.real, asked))
            throw outside(path);
        const found = await realpath(asked).catch(() => undefined);
        if (found === undefined)
            throw new ApiError(404, `${path} does not exist.`);
        if (!isInside(this.real, found))
            throw outside(path);
        if (!(await stat(found)).isDirectory())
            throw badRequest(`${path} is not a directory.`);
        await this.refuseStrays(found, path);
        return found;
    }
    /** Files of the directory that lie elsewhere, behind a link. */
    async refuseStrays(directory, path) {
        for (const entry of await readdir(directory)) {
            const at = join(directory, entry);
            if (!(await lstat(at)).isSymbolicLink())
                continue;
            const target = await realpath(at).catch(() => undefined);
            if (target === undefined || !isInside(this.real, target))
                throw outside(join(path, entry));
        }
    }
}
const isInside = (root, path) => {
    const way = relative(root, path);
    return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way));
};
const outside = (path) => new ApiError(403, `${path} is not under the directory that weights are read from (--weights-root).`);
//# sourceMappingURL=weights-root.js.map