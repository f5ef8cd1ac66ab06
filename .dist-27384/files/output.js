import { constants } from 'node:fs';
import { access, lstat, open, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { InputError, isSystemError, systemProblem } from '../errors/index.js';
import { FileWriteError, writeFileAtomic } from './atomic-file.js';
/**
 * Finds out what an output's path means, before any work is done for it.
 *
 * - `-` and `/dev/stdout`, other names of open files (`/dev/fd/3`), pipes with a name and devices are streamed to.
 * - A symbolic link stands for the file it leads to: that one is replaced, and the link stays.
 * - A file that is an input too, or that would lie in one of `directories`, is refused.
 */
export async function openOutput(path, options) {
    if (path === '-' || path === '/dev/stdout')
        return standardOutput();
    const target = await followLinks(path);
    const found = await stat(target).catch(() => undefined);
    if (found?.isDirectory())
        throw new InputError(`${path} is a directory`);
    for (const input of options.inputs)
        if (await isSameFile(found, input))
            throw new InputError(`${path} is also the input; give the output another name`);
    // A name of an open file: replacing what it leads to would leave the program that opened it with the old file.
    if (/^\/(dev\/fd|proc\/[^/]+\/fd)\//.test(resolve(path)) || (found && !found.isFile()))
        return pathStream(path);
    const folder = dirname(target);
    await checkFolder(folder).catch(cause => {
        throw new InputError(`${path}: ${systemProblem(cause, 'write')}`, { cause });
    });
    for (const directory of options.directories) {
        const inside = await realpath(directory).catch(() => resolve(directory));
        if (target.startsWith(inside + sep))
            throw new InputError(`${path} lies in ${directory}, which it has no place in; give the output another directory`);
    }
    return {
        name: path,
        kind: 'file',
        interrupted: `${path} was not written.`,
        write: content => writeFileAtomic(target, handle => content(text => handle.appendFile(text))),
    };
}
/** Whether files can be made in it. */
async function checkFolder(folder) {
    const found = await stat(folder);
    if (!found.isDirectory())
        throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
    await access(folder, constants.W_OK);
}
/** The path without links, of a file that need not exist. */
async function followLinks(path, left = 40) {
    const found = await lstat(path).catch(() => undefined);
    if (found?.isSymbolicLink()) {
        const exists = await realpath(path).catch((error) => error.code ?? '');
        if (exists === 'ELOOP' || left === 0)
            throw new InputError(`${path}: a symbolic link that leads back to itself`);
        if (exists.startsWith(sep))
            return exists;
        return followLinks(resolve(dirname(path), await readlink(path)), left - 1);
    }
    const folder = dirname(resolve(path));
    return join(await realpath(folder).catch(() => folder), basename(resolve(path)));
}
async function isSameFile(found, other) {
    const second = await stat(other).catch(() => undefined);
    return found !== undefined && found.dev === second?.dev && found.ino === second.ino;
}
function standardOutput() {
    const name = 'standard output';
    return {
        name,
        kind: 'stream',
        interrupted: `What ${name} got is incomplete.`,
        async write(content) {
            const { stdout } = process;
            // The error comes to the write that failed; without a listener it would also end the process.
            const ignore = () => { };
            stdout.on('error', ignore);
            try {
                await content(text => new Promise((done, fail) => {
                    stdout.write(text, error => (error ? fail(new FileWriteError(name, error)) : done()));
                }));
            }
            finally {
                stdout.off('error', ignore);
            }
        },
    };
}
function pathStream(path) {
    const attribute = (error) => {
        throw isSystemError(error) ? new FileWriteError(path, error) : error;
    };
    return {
        name: path,
        kind: 'stream',
        interrupted: `What ${path} got is incomplete.`,
        async write(content, { signal }) {
            const handle = await openForReader(path, signal).catch(attribute);
            try {
                await content(text => handle.appendFile(text).catch(attribute));
            }
            finally {
                await handle.close();
            }
        },
    };
}
/**
 * Opens a pipe once it has a reader. To wait inside `open` would hold a thread that no signal can stop, so it is asked
 * now and then without waiting; that handle stays open until the lasting one is, or the reader would see an end.
 */
async function openForReader(path, signal) {
    while (true) {
        signal.throwIfAborted();
        const probe = await open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch((error) => {
            if (error.code !== 'ENXIO')
                throw error;
        });
        if (!probe) {
            await sleep(50, undefined, { signal });
            continue;
        }
        try {
            return await open(path, 'w');
        }
        finally {
            await probe.close();
        }
    }
}
//# sourceMappingURL=output.js.map