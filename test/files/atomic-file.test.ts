import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { FileWriteError, temporaryName, temporaryTarget, writeFileAtomic } from '../../src/files/index.js'
import { runChild } from '../support/child.js'
import { compiled } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'

// The real functions, each replaceable by a test.
vi.mock('node:fs/promises', async original => {
  const real = await original<typeof fs>()
  return { ...real, open: vi.fn(real.open), rename: vi.fn(real.rename), unlink: vi.fn(real.unlink) }
})

afterEach(() => {
  vi.resetAllMocks()
})

function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${code}: made up, ${syscall}`), { code, syscall })
}

describe('writeFileAtomic', () => {
  it.each([
    ['a string', 'new text'],
    ['bytes', Buffer.from('new text')],
    ['a function', (file: fs.FileHandle) => file.writeFile('new text')],
  ] as const)('writes %s over an earlier file', async (_, content) => {
    const directory = temporaryDirectory()
    const path = join(directory, 'file')
    writeFileSync(path, 'an old text that is longer')
    await writeFileAtomic(path, content)
    expect(readFileSync(path, 'utf8')).toBe('new text')
    expect(readdirSync(directory)).toEqual(['file'])
  })

  it('syncs the data before the rename and the directory after it', async () => {
    const directory = temporaryDirectory()
    const { open, rename } = await vi.importActual<typeof fs>('node:fs/promises')
    const steps: string[] = []
    vi.mocked(fs.open).mockImplementation(async (path, ...rest) => {
      const handle = await open(path, ...rest)
      const what = path === directory ? 'directory' : 'file'
      const { sync, close } = handle
      handle.sync = () => {
        steps.push(`sync ${what}`)
        return sync.call(handle)
      }
      handle.close = () => {
        steps.push(`close ${what}`)
        return close.call(handle)
      }
      return handle
    })
    vi.mocked(fs.rename).mockImplementation((from, to) => {
      steps.push('rename')
      return rename(from, to)
    })
    await writeFileAtomic(join(directory, 'file'), async () => void steps.push('write'))
    expect(steps).toEqual(['write', 'sync file', 'close file', 'rename', 'sync directory', 'close directory'])
  })

  it('leaves the old file and nothing else when the content fails', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'file'), 'old')
    const reason = new Error('no more content')
    const writing = writeFileAtomic(join(directory, 'file'), async file => {
      await file.writeFile('half of the ne')
      throw reason
    })
    await expect(writing).rejects.toBe(reason)
    expect(readdirSync(directory)).toEqual(['file'])
    expect(readFileSync(join(directory, 'file'), 'utf8')).toBe('old')
  })

  it('leaves the old file and nothing else when the disk is full', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'file'), 'old')
    const writing = writeFileAtomic(join(directory, 'file'), async () => {
      throw systemError('ENOSPC', 'write')
    })
    await expect(writing).rejects.toThrow(FileWriteError)
    await expect(writing).rejects.toMatchObject({ errno: 'ENOSPC', message: expect.stringContaining('no space left') })
    expect(readdirSync(directory)).toEqual(['file'])
    expect(readFileSync(join(directory, 'file'), 'utf8')).toBe('old')
  })

  it('leaves the old file and nothing else when the rename fails', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'file'), 'old')
    vi.mocked(fs.rename).mockRejectedValueOnce(systemError('EIO', 'rename'))
    await expect(writeFileAtomic(join(directory, 'file'), 'new')).rejects.toMatchObject({ errno: 'EIO' })
    expect(readdirSync(directory)).toEqual(['file'])
    expect(readFileSync(join(directory, 'file'), 'utf8')).toBe('old')
  })

  it('says what is wrong with the place', async () => {
    const directory = temporaryDirectory()
    await expect(writeFileAtomic(join(directory, 'none', 'file'), '')).rejects.toThrow(/directory does not exist/)
    mkdirSync(join(directory, 'taken'))
    await expect(writeFileAtomic(join(directory, 'taken'), '')).rejects.toThrow(/a directory has that name/)
    expect(readdirSync(directory)).toEqual(['taken'])
  })

  it('replaces a link, not the file it points to', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'target'), 'theirs')
    symlinkSync('target', join(directory, 'link'))
    await writeFileAtomic(join(directory, 'link'), 'ours')
    expect(readFileSync(join(directory, 'target'), 'utf8')).toBe('theirs')
    expect(readFileSync(join(directory, 'link'), 'utf8')).toBe('ours')
  })

  it('gives one whole content to racing writers', async () => {
    const directory = temporaryDirectory()
    const contents = Array.from({ length: 8 }, (_, i) => String(i).repeat(100_000))
    await Promise.all(contents.map(content => writeFileAtomic(join(directory, 'file'), content)))
    expect(contents).toContain(readFileSync(join(directory, 'file'), 'utf8'))
    expect(readdirSync(directory)).toEqual(['file'])
  })

  it('leaves the old file when the process is killed between writing and renaming', async () => {
    const directory = temporaryDirectory()
    const path = join(directory, 'file')
    writeFileSync(path, 'old')
    const script = `import { writeFileAtomic } from ${JSON.stringify(join(compiled(), 'dist/files/atomic-file.js'))}
       await writeFileAtomic(${JSON.stringify(path)}, async file => {
         await file.writeFile('new')
         process.kill(process.pid, 'SIGKILL')
         await new Promise(resolve => setTimeout(resolve, 60_000))
       })`
    const { signal } = await runChild(script, [], { flags: ['--input-type=module', '--eval'] })
    expect(signal).toBe('SIGKILL')
    expect(readFileSync(path, 'utf8')).toBe('old')
    const left = readdirSync(directory).filter(name => name !== 'file')
    expect(left.map(temporaryTarget)).toEqual(['file'])
    expect(readFileSync(join(directory, left[0]!), 'utf8')).toBe('new')
    await writeFileAtomic(path, 'newer')
    expect(readFileSync(path, 'utf8')).toBe('newer')
    expect(readdirSync(directory)).toEqual(['file'])
  })
})

describe('temporary names', () => {
  it('lead back to their target and to nothing else', () => {
    expect(temporaryTarget(temporaryName('model.safetensors'))).toBe('model.safetensors')
    for (const name of ['model.safetensors', '.model.safetensors.tmp', 'model.0123456789ab.tmp', '.0123456789ab.tmp']) {
      expect(temporaryTarget(name)).toBeUndefined()
    }
  })
})
