// Replaces a directory and is killed on the way.   node replace-directory.mjs INDEX DIRECTORY CONTENT AT
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { killAt } from '../../support/kill-at.mjs'

const [, , index, directory, content, at] = process.argv
killAt(Number(at), ['mkdir', 'rename', 'rm', 'open', 'readdir', 'lstat', 'realpath'])
const { writeDirectoryAtomic } = await import(pathToFileURL(index).href)
const fill = async inside => {
  for (const name of ['a', 'b']) await writeFile(join(inside, name), content)
  await mkdir(join(inside, 'more'))
  await writeFile(join(inside, 'more', 'c'), content)
}
await writeDirectoryAtomic(directory, fill, { replaces: () => true })
