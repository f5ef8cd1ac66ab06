/**
 * Names of files and directories that are on their way to their place: `.NAME.OWNER.tmp`, and `.NAME.OWNER.old` for a directory that
 * steps aside. The owner is a process (its number, when it started, and a mark of its machine): what a dead process left can be
 * told from what a living one is about to use.
 */
import { randomBytes } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isProcessAlive, machineMark, processStart } from './process-identity.js'

export interface Leftover {
  readonly name: string
  /** What it was meant to become, or was. */
  readonly target: string
  readonly kind: 'tmp' | 'old'
  /** Whether its owner may still use it. Unknown for other machines. */
  readonly alive: boolean
}

/** A fresh hidden name for what is to become `name`. */
export function temporaryName(name: string): string {
  const owner = `${process.pid}-${processStart(process.pid) ?? 0}-${machineMark}-${randomBytes(4).toString('hex')}`
  return `.${name}.${owner}.tmp`
}

/** What an entry of a directory is, if it is one of {@link temporaryName}'s. */
export function leftoverOf(name: string): Leftover | undefined {
  const match = /^\.(.+)\.(\d+)-(\d+)-([0-9a-f]{8})-[0-9a-f]{8}\.(tmp|old)$/s.exec(name)
  if (!match) return undefined
  const [, target, pid, start, machine, kind] = match as unknown as [string, ...string[]]
  const alive = machine !== machineMark || isProcessAlive(Number(pid), start!)
  return { name, target: target!, kind: kind as Leftover['kind'], alive }
}

/**
 * The file or directory an entry was meant to become, or `undefined` when it is no temporary one. Earlier versions wrote names
 * without an owner.
 */
export function temporaryTarget(name: string): string | undefined {
  return leftoverOf(name)?.target ?? /^\.(.+)\.[0-9a-f]{12}\.tmp$/s.exec(name)?.[1]
}

/** What is left of `target`, beside it. */
export async function leftoversOf(directory: string, target: string): Promise<Leftover[]> {
  const names = await readdir(directory).catch((): string[] => [])
  return names.map(leftoverOf).filter((one): one is Leftover => one?.target === target)
}

/** Removes what dead processes left; where nothing may be written, it stays. */
export async function removeDead(directory: string, left: readonly Leftover[]): Promise<void> {
  for (const { name, alive } of left)
    if (!alive)
      await rm(join(directory, name), { recursive: true, force: true }).catch((error: NodeJS.ErrnoException) => {
        if (!['EACCES', 'EPERM', 'EROFS'].includes(error.code ?? '')) throw error
      })
}
