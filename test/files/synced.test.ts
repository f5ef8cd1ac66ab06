import type * as FileSystem from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { temporaryDirectory } from '../support/files.js'

/** What was renamed and what was forced to the disk, in order. */
const log: string[] = []
vi.mock('node:fs/promises', async original => {
  const real = await original<typeof FileSystem>()
  return {
    ...real,
    rename: async (from: string, to: string) => {
      await real.rename(from, to)
      log.push(`rename ${kind(from)} to ${kind(to)}`)
    },
    open: async (...args: Parameters<typeof real.open>) => {
      const handle = await real.open(...args)
      const sync = handle.sync.bind(handle)
      handle.sync = async () => {
        await sync()
        log.push(`sync ${kind(String(args[0]))}`)
      }
      return handle
    },
  }
})

const parent = temporaryDirectory()
const kind = (path: string): string =>
  path === parent ? 'parent' : path.endsWith('.old') ? 'aside' : path.endsWith('.tmp') ? 'new' : basename(path)

test('files and their directory are on the disk before they are put in place, and each rename before the next', async () => {
  const { writeDirectoryAtomic } = await import('../../src/files/index.js')
  const { writeFile } = await import('node:fs/promises')
  const target = join(parent, 'model')
  const write = () =>
    writeDirectoryAtomic(target, folder => writeFile(join(folder, 'weights'), 'w'), { replaces: () => true })
  await write()
  const first = log.splice(0)
  expect(first.slice(first.lastIndexOf('sync new'))).toEqual(['sync new', 'rename new to model', 'sync parent'])
  expect(first.indexOf('sync weights')).toBeLessThan(first.indexOf('sync new'))
  expect(first).toContain('sync weights')
  await write()
  const ends = log.slice(log.lastIndexOf('sync new'))
  expect(ends).toEqual(['sync new', 'rename model to aside', 'sync parent', 'rename new to model', 'sync parent'])
})
