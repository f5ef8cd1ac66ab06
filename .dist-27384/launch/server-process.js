/**
 * A server in a process group of its own. It ends with us, however we end: a guardian waits for a pipe of ours to close,
 * which no crash of ours can prevent.
 */
import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
/** How long a server that was asked to end may take; SGLang answers its requests first. With us gone, nobody waits for them. */
const graceMs = 20_000;
const orphanGraceSeconds = 5;
/**
 * Reads a line that never comes: at the end of the pipe its writer is gone. A line means that the group has ended. $1 is the
 * server's number, $2 the seconds it has, $3 its scratch directory.
 */
const guardian = `
read -r over && exit 0
kill -s TERM -- "$1" 2>/dev/null
left=$2
while [ "$left" -gt 0 ] && kill -0 "$1" 2>/dev/null; do sleep 1; left=$((left - 1)); done
kill -s KILL -- "-$1" 2>/dev/null
rm -rf -- "$3"
`;
export function startProcess(options) {
    const { command, args, env, log, scratch } = options;
    const [program, ...first] = command;
    const child = spawn(program, [...first, ...args], { detached: true, env, stdio: ['ignore', log, log] });
    return new Promise((resolve, reject) => {
        child.once('error', reject);
        child.once('spawn', () => {
            const pid = child.pid;
            const watch = spawn('/bin/sh', ['-c', guardian, 'guardian', String(pid), String(orphanGraceSeconds), scratch], {
                detached: true,
                stdio: ['pipe', 'ignore', 'ignore'],
            });
            // Without it only a crash of ours leaves something behind.
            watch.on('error', () => { });
            watch.stdin.on('error', () => { });
            watch.unref();
            const exited = whenGone(child, async () => {
                watch.stdin.end('over\n');
                await removeScratch(scratch);
            });
            resolve({ pid, exited, stop: () => stop(pid, exited) });
        });
    });
}
/** A process that has just been killed may still write there; what stays then is among temporary files. */
export async function removeScratch(scratch) {
    await rm(scratch, { recursive: true, force: true, maxRetries: 3 }).catch(() => { });
}
/** What a server that died leaves in its group is ended too: engines and schedulers with all their memory. */
async function whenGone(child, then) {
    const exit = await new Promise(resolve => {
        child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    const group = -child.pid;
    send(group, 'SIGKILL');
    // Until the last one is gone; bounded, for where nobody asks after orphans that ended, they count as there.
    for (let waited = 0; waited < 500 && send(group, 0); waited += 25)
        await delay(25);
    await then();
    return exit;
}
async function stop(pid, exited) {
    send(pid, 'SIGTERM');
    const late = setTimeout(() => send(-pid, 'SIGKILL'), graceMs);
    await exited;
    clearTimeout(late);
}
/** Whether there was anyone to send it to. */
function send(pid, signal) {
    try {
        return process.kill(pid, signal);
    }
    catch {
        return false;
    }
}
//# sourceMappingURL=server-process.js.map