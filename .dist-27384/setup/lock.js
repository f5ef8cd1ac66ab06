import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode, SetupError } from './errors.js';
/** Runs `work` while no other process on this cache runs its own. */
export async function withLock(path, options, work) {
    await mkdir(dirname(path), { recursive: true });
    const me = { token: randomUUID(), pid: process.pid, startedAt: startTime(process.pid) ?? '', host: hostname() };
    await acquire(path, me, options);
    try {
        return await work();
    }
    finally {
        await rm(path, { force: true });
    }
}
async function acquire(path, me, options) {
    const { signal, onWait, pollMs = 200, timeoutMs = 30 * 60_000 } = options;
    const deadline = Date.now() + timeoutMs;
    let waited = false;
    for (;;) {
        signal.throwIfAborted();
        if (await take(path, me))
            return;
        const holder = await read(path);
        if (!holder)
            continue; // Released between the two looks.
        if (isDead(holder) && (await breakLock(path, holder)))
            continue;
        if (!waited)
            onWait(holder);
        waited = true;
        if (Date.now() > deadline)
            throw new SetupError(`Another setup (process ${holder.pid} on ${holder.host}) has held ${path} for ${Math.round(timeoutMs / 60_000)} minutes.`, 'If it is no longer running, delete that file and run `npx whetstone setup`.');
        await sleep(pollMs, undefined, { signal });
    }
}
/** A link appears whole or not at all, so nobody ever reads a lock without its holder in it. */
async function take(path, me) {
    const mine = `${path}.${me.token}`;
    await writeFile(mine, JSON.stringify(me));
    try {
        await link(mine, path);
        return true;
    }
    catch (error) {
        if (errorCode(error) === 'EEXIST')
            return false;
        throw error;
    }
    finally {
        await rm(mine, { force: true });
    }
}
/**
 * Removes a dead holder's lock. Several waiters may try at once, and one that is late must not remove the lock of the
 * one that was first: the process that makes the link named after the dead holder's token, and finds that token in it, may.
 */
async function breakLock(path, dead) {
    const claim = `${path}.broken-${dead.token}`;
    try {
        await link(path, claim);
    }
    catch (error) {
        if (errorCode(error) === 'ENOENT')
            return true;
        if (errorCode(error) !== 'EEXIST')
            throw error;
        // Another waiter is at it, unless it died in between.
        const made = (await stat(claim).catch(() => undefined))?.ctimeMs;
        if (made !== undefined && Date.now() - made > 5_000)
            await rm(claim, { force: true });
        return false;
    }
    try {
        if ((await read(claim))?.token === dead.token)
            await rm(path, { force: true });
        return true;
    }
    finally {
        await rm(claim, { force: true });
    }
}
async function read(path) {
    try {
        return JSON.parse(await readFile(path, 'utf8'));
    }
    catch (error) {
        if (errorCode(error) === 'ENOENT')
            return undefined;
        throw error;
    }
}
/** Of a process on another machine (a home directory may be shared) nothing can be known: it counts as alive. */
function isDead(holder) {
    return holder.host === hostname() && startTime(holder.pid) !== holder.startedAt;
}
/** When a process started, in the kernel's ticks since boot; undefined when there is no such process. */
export function startTime(pid) {
    try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
        return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    }
    catch {
        return undefined;
    }
}
//# sourceMappingURL=lock.js.map