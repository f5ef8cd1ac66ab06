/** Which directories are runs. The command line and the dashboard list the same ones. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** A model directory also has a config.json; a run also has logs, or a lock if it has just started. */
export async function isRun(directory: string): Promise<boolean> {
  const entries = await readdir(directory).catch((): string[] => [])
  return entries.includes('config.json') && (entries.includes('logs') || entries.includes('lock'))
}

/**
 * The runs in a directory, and those in its directories: a pipeline has a directory with a run for each stage, an experiment one with a run
 * for each seed. Paths relative to the directory, sorted. Throws where the directory cannot be read.
 */
export async function findRuns(directory: string): Promise<string[]> {
  const found: string[] = []
  for (const name of await directoriesIn(directory)) {
    if (await isRun(join(directory, name))) found.push(name)
    else
      for (const inner of await directoriesIn(join(directory, name)).catch((): string[] => []))
        if (await isRun(join(directory, name, inner))) found.push(join(name, inner))
  }
  return found.sort()
}

/** Links to directories count. Hidden directories and installed packages have no runs. */
async function directoriesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  return entries
    .filter(entry => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => name)
    .filter(name => !name.startsWith('.') && name !== 'node_modules')
}
