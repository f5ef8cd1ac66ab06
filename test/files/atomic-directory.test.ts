import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FileWriteError, recoverDirectory, writeDirectoryAtomic } from '../../src/files/index.js'
import { runChild } from '../support/child.js'
import { compiledRoom } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'

const all = { replaces: () => true }
const filling = (content: string) => async (at: string) => {
  for (const name of ['a', 'b']) await writeFile(join(at, name), content)
  mkdirSync(join(at, 'more'))
  await writeFile(join(at, 'more', 'c'), content)
}
const contents = (directory: string): string[] =>
  ['a', 'b', 'more/c'].map(name => readFileSync(join(directory, name), 'utf8'))

test('a directory is made, and replaced whole: nothing of the old one is left', async () => {
  const parent = temporaryDirectory()
  const target = join(parent, 'deep', 'model')
  expect(await writeDirectoryAtomic(target, at => filling('one')(at).then(() => 7))).toBe(7)
  expect(contents(target)).toEqual(['one', 'one', 'one'])
  writeFileSync(join(target, 'extra'), '')
  await writeDirectoryAtomic(target, filling('two'), all)
  expect(contents(target)).toEqual(['two', 'two', 'two'])
  expect(readdirSync(target).sort()).toEqual(['a', 'b', 'more'])
  expect(readdirSync(join(parent, 'deep'))).toEqual(['model'])
  // An empty directory is nobody's.
  mkdirSync(join(parent, 'empty'))
  await writeDirectoryAtomic(join(parent, 'empty'), filling('three'))
  expect(contents(join(parent, 'empty'))).toEqual(['three', 'three', 'three'])
})

test('a link stays, and what it points to is replaced', async () => {
  const parent = temporaryDirectory()
  mkdirSync(join(parent, 'target'))
  symlinkSync('target', join(parent, 'link'))
  await writeDirectoryAtomic(join(parent, 'link'), filling('new'), all)
  expect(contents(join(parent, 'target'))).toEqual(['new', 'new', 'new'])
  expect(readdirSync(parent).sort()).toEqual(['link', 'target'])
})

test('a failure leaves the old directory and nothing else', async () => {
  const parent = temporaryDirectory()
  const target = join(parent, 'model')
  await writeDirectoryAtomic(target, filling('old'))
  const failing = async (at: string) => {
    await filling('new')(at)
    throw new Error('no more')
  }
  await expect(writeDirectoryAtomic(target, failing, all)).rejects.toThrow('no more')
  const full = async () => {
    throw Object.assign(new Error('ENOSPC: write'), { code: 'ENOSPC', syscall: 'write' })
  }
  await expect(writeDirectoryAtomic(target, full, all)).rejects.toThrow(FileWriteError)
  await expect(writeDirectoryAtomic(target, full, all)).rejects.toThrow(
    `cannot write ${target}: the disk is full: no space left`,
  )
  expect(contents(target)).toEqual(['old', 'old', 'old'])
  expect(readdirSync(parent)).toEqual(['model'])
})

test('what is not ours to replace is named, before and after filling; so is a name that is none', async () => {
  const parent = temporaryDirectory()
  const target = join(parent, 'model')
  await writeDirectoryAtomic(target, filling('old'))
  writeFileSync(join(target, 'thesis.md'), 'mine')
  const ours = { replaces: (name: string) => ['a', 'b', 'more'].includes(name) }
  await expect(writeDirectoryAtomic(target, filling('new'), ours)).rejects.toThrow(
    `${target} contains thesis.md, and writing would delete it; choose another directory`,
  )
  rmSync(join(target, 'thesis.md'))
  const meanwhile = async (at: string) => {
    await filling('new')(at)
    writeFileSync(join(target, 'thesis.md'), 'mine')
  }
  await expect(writeDirectoryAtomic(target, meanwhile, ours)).rejects.toThrow('contains thesis.md')
  expect(contents(target)).toEqual(['old', 'old', 'old'])
  await expect(writeDirectoryAtomic('', filling('new'))).rejects.toThrow('expected the name of a directory')
  writeFileSync(join(parent, 'file'), '')
  await expect(writeDirectoryAtomic(join(parent, 'file'), filling('new'))).rejects.toThrow('it is, or lies in, a file')
  await expect(writeDirectoryAtomic(join(parent, 'file', 'in'), filling('new'))).rejects.toThrow('lies in, a file')
  expect(readdirSync(parent).sort()).toEqual(['file', 'model'])
})

test('racing writers: one whole directory, and nothing beside it', async () => {
  const parent = temporaryDirectory()
  const target = join(parent, 'model')
  const names = Array.from({ length: 6 }, (_, i) => `writer ${i}`)
  await Promise.all(names.map(name => writeDirectoryAtomic(target, filling(name), all)))
  const [a, ...rest] = contents(target)
  expect(names).toContain(a)
  expect(rest).toEqual([a, a])
  expect(readdirSync(parent)).toEqual(['model'])
})

describe('a process that is killed', () => {
  const replace = async (target: string, content: string, at: number): Promise<boolean> => {
    const script = new URL('./children/replace-directory.mjs', import.meta.url)
    const { code, signal, output } = await runChild(script, [compiledRoom('files'), target, content, String(at)])
    if (signal !== 'SIGKILL') expect(code, output).toBe(0)
    return signal === 'SIGKILL'
  }

  test('at any step leaves the old directory or the new one, and the next one cleans up', async () => {
    const found: string[] = []
    for (let at = 1; ; at++) {
      const parent = temporaryDirectory()
      const target = join(parent, 'model')
      await writeDirectoryAtomic(target, filling('old'))
      const killed = await replace(target, 'new', at)
      const step = `killed at call ${at}`
      // As it was left, it is missing or whole.
      if (existsSync(target)) expect(new Set(contents(target)).size, step).toBe(1)
      await recoverDirectory(target)
      const [a, ...rest] = contents(target)
      expect(rest, step).toEqual([a, a])
      found.push(a!)
      expect(readdirSync(parent), step).toEqual(['model'])
      await writeDirectoryAtomic(target, filling('newer'), all)
      expect(contents(target)).toEqual(['newer', 'newer', 'newer'])
      expect(readdirSync(parent)).toEqual(['model'])
      if (!killed) break
    }
    // Both happened, the old one first.
    expect(found[0]).toBe('old')
    expect(found.at(-1)).toBe('new')
    expect(
      found
        .join()
        .replaceAll(/(old,)+/g, 'old,')
        .replaceAll(/(new,?)+/g, 'new'),
    ).toBe('old,new')
    expect(found.length).toBeGreaterThan(15)
  }, 180_000)

  test('is told from one that lives, here and on another machine', async () => {
    const parent = temporaryDirectory()
    const target = join(parent, 'model')
    const living: string[] = []
    await writeDirectoryAtomic(
      target,
      async at => {
        // Another writer of the same directory is at work.
        await writeDirectoryAtomic(target, filling('theirs'), all)
        living.push(at)
        expect(existsSync(at)).toBe(true)
        await filling('ours')(at)
      },
      all,
    )
    expect(contents(target)).toEqual(['ours', 'ours', 'ours'])
    const own = living[0]!.slice(parent.length + 1)
    const elsewhere = own.replace(/-[0-9a-f]{8}-([0-9a-f]{8}\.tmp)$/, '-00000000-$1')
    const dead = own.replace(/-\d+-/, '-1-')
    const others = ['.model.tmp', '.model.0123456789ab.tmp', '.models.1-1-00000000-00000000.tmp']
    for (const name of [elsewhere, dead, ...others]) mkdirSync(join(parent, name))
    await recoverDirectory(target)
    expect(readdirSync(parent).sort()).toEqual([elsewhere, 'model', ...others].sort())
  })
})
