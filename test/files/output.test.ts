import { execFileSync, spawn } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { InputError } from '../../src/errors/index.js'
import { FileWriteError, type OutputOptions, openOutput } from '../../src/files/index.js'
import { temporaryDirectory } from '../support/files.js'

let folder: string
beforeEach(() => {
  folder = temporaryDirectory()
})

const at = (name: string): string => join(folder, name)
const never = new AbortController().signal
async function put(
  path: string,
  { text = 'new', signal = never, ...options }: Partial<OutputOptions> & { text?: string; signal?: AbortSignal } = {},
): Promise<void> {
  const output = await openOutput(path, { inputs: [], directories: [], ...options })
  await output.write(
    async write => {
      await write(text)
      await write('\n')
    },
    { signal },
  )
}

describe('a file', () => {
  test('is written whole', async () => {
    writeFileSync(at('out'), 'old')
    await put(at('out'))
    expect(readFileSync(at('out'), 'utf8')).toBe('new\n')
    expect(readdirSync(folder)).toEqual(['out'])
  })

  test('behind links is replaced, and the links stay', async () => {
    mkdirSync(at('there'))
    writeFileSync(at('there/file'), 'old')
    symlinkSync('there/file', at('direct'))
    symlinkSync(at('direct'), at('link'))
    symlinkSync('there/later', at('dangling'))
    await put(at('link'))
    await put(at('dangling'))
    expect([readlinkSync(at('link')), readlinkSync(at('dangling'))]).toEqual([at('direct'), 'there/later'])
    expect(readFileSync(at('there/file'), 'utf8')).toBe('new\n')
    expect(readFileSync(at('there/later'), 'utf8')).toBe('new\n')
    expect(readdirSync(at('there'))).toEqual(['file', 'later'])
  })

  test.each<[string, () => string, Partial<Record<'inputs' | 'directories', string[]>>]>([
    ['is a directory', () => folder, {}],
    ['its directory does not exist', () => at('no/where'), {}],
    ['is also the input', () => at('link'), { inputs: ['file'] }],
    ['is inside the input directory', () => at('model/out'), { directories: ['model'] }],
    ['is inside the input directory', () => at('shortcut/deep/out'), { directories: ['model'] }],
    ['leads back to itself', () => at('loop'), {}],
  ])('%s: refused', async (message, path, options) => {
    writeFileSync(at('file'), 'old')
    symlinkSync('file', at('link'))
    symlinkSync('loop', at('loop'))
    mkdirSync(at('model/deep'), { recursive: true })
    symlinkSync('model', at('shortcut'))
    const given = Object.fromEntries(Object.entries(options).map(([key, names]) => [key, names.map(at)]))
    await expect(put(path(), given)).rejects.toThrow(InputError)
    await expect(put(path(), given)).rejects.toThrow(message)
    expect(readFileSync(at('file'), 'utf8')).toBe('old')
    expect(readdirSync(at('model/deep'))).toEqual([])
  })

  test('beside the input, or beside the directory of a similar name, is fine', async () => {
    writeFileSync(at('file'), 'old')
    mkdirSync(at('model'))
    mkdirSync(at('model-2'))
    await put(at('model-2/out'), { inputs: [at('file')], directories: [at('model')] })
    expect(readFileSync(at('model-2/out'), 'utf8')).toBe('new\n')
  })
})

describe('a stream', () => {
  test('a pipe gets the text, waits for its reader, and stays a pipe', async () => {
    execFileSync('mkfifo', [at('pipe')])
    const writing = put(at('pipe'), { text: 'x'.repeat(200_000) })
    await new Promise(resolve => setTimeout(resolve, 120))
    const reader = spawn('cat', [at('pipe')], { stdio: ['ignore', 'pipe', 'inherit'] })
    let read = ''
    reader.stdout.setEncoding('utf8').on('data', text => {
      read += text
    })
    const ended = new Promise(resolve => reader.on('close', resolve))
    await writing
    await ended
    expect(read.length).toBe(200_001)
    expect(lstatSync(at('pipe')).isFIFO()).toBe(true)
  })

  test('a pipe nobody reads can be given up on', async () => {
    execFileSync('mkfifo', [at('pipe')])
    const controller = new AbortController()
    const writing = put(at('pipe'), { signal: controller.signal })
    setTimeout(() => controller.abort(), 60)
    await expect(writing).rejects.toThrow(/abort/i)
  })

  test('a pipe whose reader goes is an error of its own', async () => {
    execFileSync('mkfifo', [at('pipe')])
    const reader = spawn('head', ['-c', '1', at('pipe')], { stdio: 'ignore' })
    const ended = new Promise(resolve => reader.on('close', resolve))
    const output = await openOutput(at('pipe'), { inputs: [], directories: [] })
    const writing = output.write(
      async write => {
        await write('x')
        await ended
        await write('y')
      },
      { signal: never },
    )
    await expect(writing).rejects.toThrow(FileWriteError)
    await expect(writing).rejects.toThrow(`cannot write ${at('pipe')}: its reader has gone`)
  })

  test('a device, a link to one, and the name of an open file', async () => {
    symlinkSync('/dev/null', at('null'))
    for (const path of ['/dev/null', at('null'), '-', '/dev/stdout'])
      expect((await openOutput(path, { inputs: [], directories: [] })).kind).toBe('stream')
    await put(at('null'))
    expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true)
    expect(readlinkSync(at('null'))).toBe('/dev/null')
  })
})
