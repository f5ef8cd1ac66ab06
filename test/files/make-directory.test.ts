import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeDirectory } from '../../src/files/index.js'
import { temporaryDirectory } from '../support/files.js'

test('makes what is missing, and takes what is there', async () => {
  const root = temporaryDirectory()
  const deep = join(root, 'a/b/c')
  await Promise.all([makeDirectory(deep), makeDirectory(deep), makeDirectory(join(root, 'a/b'))])
  expect(statSync(deep).isDirectory()).toBe(true)
  await makeDirectory(deep)
  await makeDirectory('/')
})

test('a file in its place, or on the way, is an error', async () => {
  const root = temporaryDirectory()
  writeFileSync(join(root, 'file'), '')
  await expect(makeDirectory(join(root, 'file'))).rejects.toThrow('EEXIST')
  await expect(makeDirectory(join(root, 'file/a/b'))).rejects.toThrow('ENOTDIR')
})

test.runIf(process.platform === 'linux')('where the system refuses every directory, it ends', async () => {
  await expect(makeDirectory('/proc/whetstone/a/b')).rejects.toThrow(
    '/proc/whetstone: cannot create a directory; choose another place',
  )
})
