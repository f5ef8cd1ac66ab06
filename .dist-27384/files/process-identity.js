/** Telling processes and machines apart in what they leave on a disk: names of temporary files, locks. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
/** A mark of this machine: machines that share a disk do not know each other's processes. */
export const machineMark = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
/**
 * When a process started, in the kernel's ticks since boot: with its number it tells a process from a later one that was
 * given the same number. Undefined when there is no such process, or no way to know. One that has ended and that its parent
 * has not asked about (as under a container's first process, often for good) is none. (As in setup, which runs before what this
 * room imports is installed.)
 */
export function processStart(pid) {
    try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        return ['Z', 'X'].includes(fields[0]) ? undefined : fields[19];
    }
    catch {
        return undefined;
    }
}
/** Whether the process with this number that started then still runs on this machine. `start` is '0' where it was not known. */
export function isProcessAlive(pid, start) {
    const found = processStart(pid);
    if (found !== undefined)
        return start === found;
    // No such process, or a system that does not tell when one started.
    if (start !== '0')
        return false;
    try {
        process.kill(pid, 0);
        return true;
    }
    catch (error) {
        return error.code === 'EPERM';
    }
}
//# sourceMappingURL=process-identity.js.map