import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { InputError } from '../errors/index.js'

/**
 * Makes a directory and its missing parents; an existing one is fine. The `recursive` of Node never ends if a file system, such
 * as /proc, reports an existing directory as missing.
 */
export async function makeDirectory(path: string): Promise<void> {
  const make = (): Promise<'made' | 'no parent'> =>
    mkdir(path).then(
      () => 'made',
      async (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return 'no parent'
        // Some file systems answer with another error than EEXIST where the directory is there.
        if (await isDirectory(path)) return 'made'
        throw error
      },
    )
  if ((await make()) === 'made') return
  const parent = dirname(resolve(path))
  if (parent !== resolve(path)) await makeDirectory(parent)
  if ((await make()) === 'no parent') throw new InputError(`${path}: cannot create a directory; choose another place`)
}

function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
}
