/** Programs in process groups of their own. A group ends as a whole: programs that start others would leave them behind. */
import type { ChildProcess } from 'node:child_process'

const tied = new Set<ChildProcess>()
const endAll = (): void => {
  for (const child of tied) signalGroup(child, 'SIGKILL')
}

/** The group of this child ends with this process, until the returned function is called. There is one listener for all. */
export function tieGroup(child: ChildProcess): () => void {
  if (tied.size === 0) process.once('exit', endAll)
  tied.add(child)
  return () => {
    tied.delete(child)
    if (tied.size === 0) process.off('exit', endAll)
  }
}

/** Signals every process of the group of a child that was started with `detached`. */
export function signalGroup({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name)
  } catch {
    // No process of the group is left.
  }
}
