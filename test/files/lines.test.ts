import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InputError } from '../../src/errors/index.js'
import { BadLines, type LineOptions, numberedLines, parseJsonLine } from '../../src/files/index.js'
import { temporaryDirectory } from '../support/files.js'

const folder = temporaryDirectory()

async function lines(content: string | Uint8Array, options?: LineOptions): Promise<string[]> {
  const file = join(folder, 'file')
  writeFileSync(file, content)
  const found: string[] = []
  for await (const { text, line } of numberedLines(file, options)) expect(found.push(text)).toBe(line)
  return found
}

describe('numberedLines', () => {
  test('ends are dropped, or kept; the last line needs none', async () => {
    expect(await lines('a\r\n\nb\n')).toEqual(['a', '', 'b'])
    expect(await lines('a\r\n\nb', { ends: 'keep' })).toEqual(['a\r\n', '\n', 'b'])
    expect(await lines('')).toEqual([])
  })

  test('joined, they are the file, whatever is in it and wherever its blocks end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: 'binary' })), async parts => {
        const text = `x${parts.join('\n')}`
        fc.pre(Buffer.from(text).toString() === text)
        expect((await lines(text, { ends: 'keep' })).join('')).toBe(text)
      }),
      { numRuns: 50 },
    )
    const long = `${'é'.repeat(100_000)}\n${'日'.repeat(70_000)}`
    expect(await lines(long)).toEqual(long.split('\n'))
  })

  test('the byte-order mark of the file is no part of its first line; any other is text', async () => {
    expect(await lines('\uFEFF{"a":1}\n\uFEFFb')).toEqual(['{"a":1}', '\uFEFFb'])
  })

  test.each([
    ['none', 'none: there is no such file'],
    ['.', ' is a directory'],
  ])('%s: %s', async (name, message) => {
    const reading = numberedLines(join(folder, name)).next()
    await expect(reading).rejects.toThrow(InputError)
    await expect(numberedLines(join(folder, name)).next()).rejects.toThrow(message)
  })

  test('bytes that are no UTF-8 are reported with their line', async () => {
    await expect(lines(Uint8Array.of(65, 10, 66, 0xff, 10))).rejects.toThrow('file:2: expected UTF-8 text')
  })

  test('can be cancelled', async () => {
    await expect(lines('a\nb', { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i)
  })
})

test('a line of JSONL', () => {
  expect(parseJsonLine('{"a":1}')).toEqual({ a: 1 })
  expect(() => parseJsonLine(' ')).toThrow('empty')
  expect(() => parseJsonLine('{')).toThrow(/^not JSON \(/)
})

test('bad lines are listed, and counted where there are many', () => {
  const bad = new BadLines('f.jsonl', 2)
  bad.throwIfAny()
  bad.add(3, 'x')
  expect(() => bad.throwIfAny()).toThrow('f.jsonl: a bad line; nothing was written\n  line 3: x')
  bad.add(4, 'y')
  bad.add(7, 'z')
  expect(() => bad.throwIfAny()).toThrow(
    'f.jsonl: 3 bad lines; nothing was written\n  line 3: x\n  line 4: y\n  and 1 more',
  )
})
