/** Identifies processes and machines in what they leave on a disk: names of temporary files, locks. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** A mark of this machine: machines that share a disk do not see each other's processes. */
export const machineMark: string = createHash('sha256').update(hostname()).digest('hex').slice(0, 8)

/**
 * Start time of a process in kernel ticks since boot: distinguishes it from a later process with the same number. Undefined if
 * there is no such process, or the system does not report it. A zombie is not a process.
 */
export function processStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return ['Z', 'X'].includes(fields[0]!) ? undefined : fields[19]
  } catch {
    return undefined
  }
}

/** Whether the process with this number that started then still runs on this machine. `start` is '0' where it was not known. */
export function isProcessAlive(pid: number, start: string): boolean {
  const found = processStart(pid)
  if (found !== undefined) return start === found
  // No such process, or a system that does not tell when one started.
  if (start !== '0') return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
