import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LockHolder, tryLock } from '../files/index.js'
import { SetupError } from './errors.js'

interface LockOptions {
  signal: AbortSignal
  /** Called once when another process holds it. */
  onWait: (holder: LockHolder) => void
  pollMs?: number
  timeoutMs?: number
}

/** Runs `work` while no other process on this cache runs its own. */
export async function withLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const { signal, onWait, pollMs = 200, timeoutMs = 30 * 60_000 } = options
  await mkdir(dirname(path), { recursive: true })
  const deadline = Date.now() + timeoutMs
  let waited = false
  for (;;) {
    signal.throwIfAborted()
    const taken = await tryLock(path)
    if ('lock' in taken) {
      try {
        return await work()
      } finally {
        await taken.lock.release()
      }
    }
    const { holder } = taken
    if (!waited) onWait(holder)
    waited = true
    if (Date.now() > deadline)
      throw new SetupError(
        `Another setup (process ${holder.pid} on ${holder.host}) has held ${path} for ${Math.round(timeoutMs / 60_000)} minutes.`,
        'If it is no longer running, delete that file and run `npx whetstone setup`.',
      )
    await sleep(pollMs, undefined, { signal })
  }
}
