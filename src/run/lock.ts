import { isHeld, type Lock, type LockHolder, machineMark, readLock, tryLock } from '../files/index.js'
import { attributed } from './append-file.js'
import { RunError } from './errors.js'

/** Takes the lock of a run; throws where another process has it. */
export async function takeLock(path: string): Promise<Lock> {
  const taken = await attributed(path, () => tryLock(path))
  if ('lock' in taken) return taken.lock
  throw heldError(path, taken.holder)
}

/** Throws where taking the lock would; takes nothing. */
export async function refuseHeld(path: string): Promise<void> {
  const holder = await readLock(path)
  if (holder && isHeld(holder)) throw heldError(path, holder)
}

function heldError(path: string, { pid, host, machine, since }: LockHolder): RunError {
  if (machine === machineMark)
    return new RunError(`${path}: process ${pid} has been using this run since ${since}`, {
      remedy: 'Wait for it, stop it, or choose another directory for this run.',
    })
  return new RunError(`${path}: process ${pid} on the machine ${host} took this run at ${since}`, {
    remedy: `This machine cannot see whether that process still runs. If it does not, delete ${path} and try again.`,
  })
}
