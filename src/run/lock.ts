/**
 * Who owns a run directory: a file that holds a process's number, when it started, and its machine. A process that has died,
 * a number that was given to another process since, and a machine that has been restarted own nothing.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { link, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { systemProblem } from '../errors/index.js'
import { isProcessAlive, machineMark, processStart } from '../files/index.js'
import { attributed } from './append-file.js'
import { RunError } from './errors.js'

const holderSchema = z.object({
  token: z.string(),
  pid: z.int(),
  /** The kernel's ticks since boot, or '0' where the system does not tell. */
  start: z.string(),
  /** Names one boot of the machine's kernel; empty where the system does not tell. */
  boot: z.string(),
  machine: z.string(),
  host: z.string(),
  since: z.string(),
})
export type LockHolder = Readonly<z.output<typeof holderSchema>>

/** A lock that is held. */
export interface Lock {
  release(): Promise<void>
}

/** Takes the lock at `path`, or says who has it. */
export async function takeLock(path: string): Promise<Lock> {
  const me: LockHolder = {
    token: randomUUID(),
    pid: process.pid,
    start: processStart(process.pid) ?? '0',
    boot: bootId(),
    machine: machineMark,
    host: hostname(),
    since: new Date().toISOString(),
  }
  for (let attempt = 0; attempt < 20; attempt++) {
    if (await attributed(path, () => linkIfFree(path, me))) return { release: () => release(path, me) }
    const holder = await readLock(path)
    // Released between the two looks.
    if (!holder) continue
    if (isHeld(holder)) throw heldError(path, holder)
    await attributed(path, () => breakLock(path, holder))
  }
  throw new RunError(`${path}: other processes are locking this run at the same moment; try again`)
}

/** The holder a lock names, alive or not; undefined where there is no lock. */
export async function readLock(path: string): Promise<LockHolder | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new RunError(`${path}: ${systemProblem(error, 'read')}`, { cause: error })
  })
  if (text === undefined) return undefined
  const holder = holderSchema.safeParse(parsed(text))
  if (!holder.success) throw new RunError(`${path} is damaged; if no process uses the run, delete this file`)
  return holder.data
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Of a process on another machine nothing can be known: it counts as alive. */
export function isHeld(holder: LockHolder): boolean {
  if (holder.machine !== machineMark) return true
  if (holder.boot !== bootId()) return false
  return isProcessAlive(holder.pid, holder.start)
}

function heldError(path: string, { pid, host, machine, since }: LockHolder): RunError {
  return machine === machineMark
    ? new RunError(`${path}: process ${pid} has been using this run since ${since}`, {
        remedy: 'Wait for it, stop it, or choose another directory for this run.',
      })
    : new RunError(`${path}: process ${pid} on the machine ${host} took this run at ${since}`, {
        remedy: `This machine cannot see whether that process still runs. If it does not, delete ${path} and try again.`,
      })
}

/** A link appears whole or not at all, so that nobody ever reads a lock without its holder in it. */
async function linkIfFree(path: string, me: LockHolder): Promise<boolean> {
  // The name says whose it is, even where the process dies before it has written anything.
  const mine = `${path}.${me.pid}-${me.start}-${me.machine}-${me.token}`
  try {
    await writeFile(mine, JSON.stringify(me))
    await link(mine, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(mine, { force: true })
  }
}

/**
 * Removes a dead holder's lock. Several processes may try at once, and one that is late must not remove the lock of the one
 * that was first: only the process that makes the link named after the dead holder's token, and finds that token in it, may.
 */
async function breakLock(path: string, dead: LockHolder): Promise<void> {
  const claim = `${path}.broken-${dead.token}`
  try {
    await link(path, claim)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return
    if (code !== 'EEXIST') throw error
    // Another process is at it, unless it died in between.
    const made = (await stat(claim).catch(() => undefined))?.ctimeMs
    if (made !== undefined && Date.now() - made > 5_000) await rm(claim, { force: true })
    else await new Promise(resolve => setTimeout(resolve, 300))
    return
  }
  try {
    if ((await readLock(claim))?.token === dead.token) await rm(path, { force: true })
  } finally {
    await rm(claim, { force: true })
  }
}

/**
 * Removes what processes that died while they took or broke a lock left beside it. To be called by the lock's holder: for it,
 * no dead lock is left to be broken, and claims to do so are void.
 */
export async function removeDeadClaims(path: string): Promise<void> {
  const folder = dirname(path)
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(path)}.`)) continue
    const owner = /\.(\d+)-(\d+)-([0-9a-f]{8})-[0-9a-f-]{36}$/.exec(name)
    const alive = owner && (owner[3] !== machineMark || isProcessAlive(Number(owner[1]), owner[2]!))
    if (owner ? !alive : name.startsWith(`${basename(path)}.broken-`)) await rm(join(folder, name), { force: true })
  }
}

async function release(path: string, me: LockHolder): Promise<void> {
  // A person may have removed it by hand, and another process taken it.
  if ((await readLock(path).catch(() => undefined))?.token === me.token) await rm(path, { force: true })
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}
