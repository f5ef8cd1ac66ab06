/**
 * A lock that is a file: it names the process that holds it. The lock of a process that has died, of an earlier boot of this machine,
 * or of a process number that another process has now, is free.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { link, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { InputError, systemProblem } from '../errors/index.js'
import { isProcessAlive, machineMark, processStart } from './process-identity.js'

const holderSchema = z.object({
  token: z.string(),
  pid: z.int(),
  /** The kernel's ticks since boot; '0' where the system does not tell. */
  start: z.string(),
  /** Names one boot of the machine's kernel; empty where the system does not tell. */
  boot: z.string(),
  machine: z.string(),
  host: z.string(),
  since: z.string(),
})
export type LockHolder = Readonly<z.output<typeof holderSchema>>

/** A lock that this process holds. */
export interface Lock {
  release(): Promise<void>
}

/** Takes the lock at `path`; returns the holder if another process has it. */
export async function tryLock(path: string): Promise<{ lock: Lock } | { holder: LockHolder }> {
  const me: LockHolder = {
    token: randomUUID(),
    pid: process.pid,
    start: processStart(process.pid) ?? '0',
    boot: bootId(),
    machine: machineMark,
    host: hostname(),
    since: new Date().toISOString(),
  }
  for (;;) {
    if (await linkIfFree(path, me)) return { lock: { release: () => release(path, me) } }
    const holder = await readLock(path)
    // Undefined: released between the two looks.
    if (holder && isHeld(holder)) return { holder }
    if (holder) await breakLock(path, holder)
  }
}

/** The holder that a lock names, alive or not; undefined where there is no lock. */
export async function readLock(path: string): Promise<LockHolder | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new InputError(`${path}: ${systemProblem(error, 'read')}`, { cause: error })
  })
  if (text === undefined) return undefined
  const holder = holderSchema.safeParse(parsed(text))
  if (!holder.success) throw new InputError(`${path} is damaged; delete this file if no process uses it`)
  return holder.data
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A process on another machine cannot be seen: it counts as alive. */
export function isHeld(holder: LockHolder): boolean {
  if (holder.machine !== machineMark) return true
  if (holder.boot !== bootId()) return false
  return isProcessAlive(holder.pid, holder.start)
}

/** A link appears whole or not at all: no process reads a lock without its holder. */
async function linkIfFree(path: string, me: LockHolder): Promise<boolean> {
  // The name tells the owner, also where the process dies before it has written anything.
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
 * Removes the lock of a dead holder. Several processes may try at the same time, and a late one must not remove the lock of the
 * first: only the process that creates the link named after the token of the dead holder, and finds that token in it, may remove
 * it.
 */
async function breakLock(path: string, dead: LockHolder): Promise<void> {
  const claim = `${path}.broken-${dead.token}`
  try {
    await link(path, claim)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return
    if (code !== 'EEXIST') throw error
    // Another process is breaking it, or died while it did.
    const made = (await stat(claim).catch(() => undefined))?.ctimeMs
    if (made !== undefined && Date.now() - made > 5_000) await rm(claim, { force: true })
    else await delay(300)
    return
  }
  try {
    if ((await readLock(claim))?.token === dead.token) await rm(path, { force: true })
  } finally {
    await rm(claim, { force: true })
  }
}

/** Removes leftovers of processes that died while taking or breaking a lock. Only the holder of the lock may call this. */
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
  // A person may have removed the lock by hand, and another process taken it.
  if ((await readLock(path).catch(() => undefined))?.token === me.token) await rm(path, { force: true })
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}
