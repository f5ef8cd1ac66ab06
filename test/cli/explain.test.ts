/** What a person is told when something fails: one message, and a stack only for a defect. */
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { explain } from '../../src/cli/explain.js'
import { InputError, systemProblem } from '../../src/errors/index.js'
import { FileWriteError } from '../../src/files/index.js'
import { Tensor } from '../../src/tensor/index.js'
import { temporaryDirectory } from '../support/files.js'

const folder = temporaryDirectory()
const at = (name: string): string => join(folder, name)

const thrownBy = (work: () => unknown): unknown => {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

/** As the operating system reports it. */
const refused = (code: string, syscall: string, path?: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${code}: said by the system`), { code, syscall, ...(path === undefined ? {} : { path }) })

test('an error for people is its message and its remedy', () => {
  expect(explain(new InputError('model: nowhere does not exist'))).toBe('model: nowhere does not exist')
  expect(explain(new InputError('no room', { remedy: 'Make some.' }))).toBe('no room\nMake some.')
})

test('a defect keeps its stack', () => {
  expect(explain(thrownBy(() => (undefined as unknown as string).length))).toMatch(/TypeError: .*\n {4}at /s)
})

test('errors of the file system that nothing attributed name the path', async () => {
  writeFileSync(at('file'), '')
  symlinkSync(at('loop'), at('loop'))
  expect(explain(thrownBy(() => readFileSync(at('gone'))))).toBe(`${at('gone')}: there is no such file or directory`)
  // node leaves the path out here.
  expect(explain(thrownBy(() => readFileSync(folder)))).toBe('it is a directory; expected a file')
  expect(explain(thrownBy(() => readFileSync(at('file/x'))))).toBe(
    `${at('file/x')}: a part of the path is a file, not a directory`,
  )
  expect(explain(thrownBy(() => readFileSync(at('loop'))))).toBe(`${at('loop')}: a symbolic link leads back to itself`)
  expect(explain(await mkdir(at('gone/x')).catch(error => error))).toBe(
    `${at('gone/x')}: there is no such file or directory`,
  )
  expect(explain(refused('EMFILE', 'open', 'x'))).toBe(
    'x: the process has too many open files; raise the limit (`ulimit -n`)',
  )
  expect(explain(refused('EWHAT', 'open', 'x'))).toBe('x: EWHAT: said by the system')
  expect(explain(refused('EPIPE', 'write'))).toBe('the reader of the output closed it')
})

test.each([
  ['EROFS', 'the file system is read-only; choose another directory'],
  ['EACCES', 'no permission to write; choose another directory, or change its permissions'],
  ['EPERM', 'no permission to write; choose another directory, or change its permissions'],
  ['ENOSPC', 'the disk is full: no space left (free some, or choose another directory)'],
  ['EDQUOT', 'your disk quota is used up: no space left (free some, or choose another directory)'],
  ['ENOTDIR', 'a part of the path is a file, not a directory'],
  ['ENOENT', 'its directory does not exist'],
  ['ENAMETOOLONG', 'the name is too long for the file system'],
  ['EISDIR', 'a directory has that name'],
])('%s on writing: %s', (code, words) => {
  expect(explain(new FileWriteError('out.jsonl', refused(code, 'open')))).toBe(`cannot write out.jsonl: ${words}`)
})

test('no permission to read is not a missing permission to write', () => {
  expect(systemProblem(refused('EACCES', 'open'), 'read')).toBe('no permission to read it')
})

test('a NUL character in a path', () => {
  expect(explain(thrownBy(() => readFileSync('a\0b')))).toBe('the path "a\\u0000b" has a NUL character in it')
})

test('out of memory says memory, and what to do', () => {
  const advice = 'docs/out-of-memory.md explains each option.'
  const error = thrownBy(() =>
    Tensor.from(new Float32Array([1]))
      .expand([2 ** 40])
      .contiguous(),
  )
  expect(explain(error)).toMatch(/^out of memory: 4398046511104 bytes asked for, .*\n.*docs\/out-of-memory\.md/)
  expect(explain(error)).toContain(advice)
  expect(explain(thrownBy(() => new ArrayBuffer(2 ** 52)))).toContain(advice)
  expect(explain(thrownBy(() => 'x'.repeat(2 ** 29).repeat(2)))).toContain('out of memory')
  expect(explain(new RangeError('temperature should be 0 or more'))).toMatch(/\n {4}at /)
})
