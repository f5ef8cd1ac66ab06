/** A data set as a folder on disk. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemProblem } from '../../errors/index.js'
import { DataError } from '../errors.js'
import { type ChosenSplit, chooseSplit, type SplitChoice } from './choose-split.js'
import { planFolder } from './plan-folder.js'

/** More files than this are not one data set. */
const maxNames = 100_000

/**
 * Finds the files of a split in a folder: one of `save_to_disk`, or one as on the Hub. The files are absolute if the folder is.
 *
 * @example
 * const { files } = await dataFolderFiles('datasets/gsm8k', { config: 'main', split: 'test' })
 */
export async function dataFolderFiles(
  folder: string,
  choice: SplitChoice,
  shown: string = folder,
): Promise<ChosenSplit> {
  const names: string[] = []
  await list(folder, '', names)
  const plan = await planFolder({ shown, names, read: name => readFile(join(folder, name), 'utf8') })
  const chosen = chooseSplit(plan, choice, shown)
  return { ...chosen, files: chosen.files.map(name => join(folder, name)) }
}

async function list(folder: string, inside: string, names: string[]): Promise<void> {
  const entries = await readdir(join(folder, inside), { withFileTypes: true }).catch((cause: NodeJS.ErrnoException) => {
    throw new DataError(`${join(folder, inside)}: ${systemProblem(cause, 'read')}`, { cause })
  })
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue
    const name = inside === '' ? entry.name : `${inside}/${entry.name}`
    if (entry.isDirectory()) await list(folder, name, names)
    else names.push(name)
    if (names.length > maxNames) throw new DataError(`${folder}: more than ${maxNames} files; give a smaller folder`)
  }
}
