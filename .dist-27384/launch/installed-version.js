/** Which version of a Python package a program belongs to, without starting it: that takes servers many seconds. */
import { execFile } from 'node:child_process';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
const longestLine = 256;
const timeout = 20_000;
/** By the interpreter in the first line of its script; undefined for other programs, and where the package is not found. */
export async function installedVersion(program, name) {
    const python = await interpreterOf(program);
    if (python === undefined)
        return undefined;
    const script = 'import sys; from importlib.metadata import version; print(version(sys.argv[1]))';
    try {
        const { stdout } = await promisify(execFile)(python, ['-c', script, name], { timeout });
        return stdout.trim() || undefined;
    }
    catch {
        return undefined;
    }
}
async function interpreterOf(program) {
    const file = await open(program).catch(() => undefined);
    if (!file)
        return undefined;
    try {
        const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(longestLine) });
        return /^#!\s*(\/\S*python[\d.]*)\s*$/m.exec(buffer.toString('utf8', 0, bytesRead).split('\n')[0])?.[1];
    }
    finally {
        await file.close();
    }
}
//# sourceMappingURL=installed-version.js.map