/** Talks to a run through the socket in its directory. */
import { stat } from 'node:fs/promises'
import { runPaths } from '../run/index.js'

/** Whether the run has a socket. A process that died may have left one; an act finds out. */
export async function isListening(directory: string): Promise<boolean> {
  const found = await stat(runPaths(directory).socket).catch(() => undefined)
  return found?.isSocket() ?? false
}
