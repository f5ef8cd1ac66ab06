/**
 * Runs a server in a process group of its own. The server ends with this process, also when this process crashes: a guardian process
 * waits until a pipe from this process closes.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from './find-command.js'

export interface ServerExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ServerProcess {
  readonly pid: number
  /** Resolves when the server and everything it started are gone. */
  readonly exited: Promise<ServerExit>
  /** Asks it to end, and kills it after a while. */
  stop(): Promise<void>
}

/** How long a server may take to end; SGLang answers its requests first. Shorter where this process is gone. */
const graceMs = 20_000
const orphanGraceSeconds = 5

/**
 * Reads from the pipe: a line means that the server has ended, the end of the pipe that this process is gone. $1 is the server's process
 * number, $2 the seconds it has to end, $3 its scratch directory.
 */
const guardian = `
read -r over && exit 0
kill -s TERM -- "$1" 2>/dev/null
left=$2
while [ "$left" -gt 0 ] && kill -0 "$1" 2>/dev/null; do sleep 1; left=$((left - 1)); done
kill -s KILL -- "-$1" 2>/dev/null
rm -rf -- "$3"
`

export function startProcess(options: {
  command: Command
  args: readonly string[]
  env: NodeJS.ProcessEnv
  /** An open file that gets its output. */
  log: number
  /** Its directory for temporary files; removed with it. */
  scratch: string
}): Promise<ServerProcess> {
  const { command, args, env, log, scratch } = options
  const [program, ...first] = command
  const child = spawn(program, [...first, ...args], { detached: true, env, stdio: ['ignore', log, log] })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('spawn', () => {
      const pid = child.pid!
      const watch = spawn('/bin/sh', ['-c', guardian, 'guardian', String(pid), String(orphanGraceSeconds), scratch], {
        detached: true,
        stdio: ['pipe', 'ignore', 'ignore'],
      })
      // Without the guardian, only a crash of this process leaves the server behind.
      watch.on('error', () => {})
      watch.stdin.on('error', () => {})
      watch.unref()
      const exited = whenGone(child, async () => {
        watch.stdin.end('over\n')
        await removeScratch(scratch)
      })
      resolve({ pid, exited, stop: () => stop(pid, exited) })
    })
  })
}

/** A process that was just killed may still write there; then the directory stays. */
export async function removeScratch(scratch: string): Promise<void> {
  await rm(scratch, { recursive: true, force: true, maxRetries: 3 }).catch(() => {})
}

/** Also ends the processes that a dead server leaves in its group: engines and schedulers hold much memory. */
async function whenGone(child: ChildProcess, then: () => Promise<void>): Promise<ServerExit> {
  const exit = await new Promise<ServerExit>(resolve => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const group = -child.pid!
  send(group, 'SIGKILL')
  // Until the last one is gone. Bounded: in some containers ended orphans stay as zombies.
  for (let waited = 0; waited < 500 && send(group, 0); waited += 25) await delay(25)
  await then()
  return exit
}

async function stop(pid: number, exited: Promise<ServerExit>): Promise<void> {
  send(pid, 'SIGTERM')
  const late = setTimeout(() => send(-pid, 'SIGKILL'), graceMs)
  await exited
  clearTimeout(late)
}

/** Returns whether such a process exists. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
