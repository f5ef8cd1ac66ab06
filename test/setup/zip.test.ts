import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { unpack } from '../../src/setup/unpack.js'
import { BrokenArchiveError, openZip, readWhole } from '../../src/setup/zip.js'
import { temporaryDirectory } from '../support/files.js'
import { makeZip, type ZipPart } from '../support/setup.js'

function onDisk(bytes: Buffer): string {
  const path = join(temporaryDirectory(), 'archive.zip')
  writeFileSync(path, bytes)
  return path
}

async function contents(bytes: Buffer): Promise<Record<string, string>> {
  const zip = await openZip(onDisk(bytes))
  try {
    const result: Record<string, string> = {}
    for (const entry of zip.entries) result[entry.name] = (await readWhole(zip, entry)).toString()
    return result
  } finally {
    await zip.close()
  }
}

const long = 'a line that repeats\n'.repeat(200_000)

describe('reading', () => {
  const parts: ZipPart[] = [
    { name: 'deflated.txt', content: long },
    { name: 'stored.bin', content: 'as it is', stored: true },
    { name: 'empty', content: '' },
  ]
  const expected = { 'deflated.txt': long, 'stored.bin': 'as it is', empty: '' }

  test('deflated and stored entries', async () => {
    expect(await contents(makeZip(parts))).toEqual(expected)
  })
  test('behind a comment', async () => {
    expect(await contents(makeZip(parts, { comment: 'PK a comment' }))).toEqual(expected)
  })
  test('zip64 fields and end record', async () => {
    const wide = parts.map(part => ({ ...part, wide: true }))
    expect(await contents(makeZip(wide, { wideEnd: true }))).toEqual(expected)
  })
})

describe('refusing', () => {
  const good = makeZip([{ name: 'a', content: long }])
  const cases: [string, Buffer, RegExp][] = [
    ['an empty file', Buffer.alloc(0), /no end record/],
    ['something else', Buffer.from('<html>not found</html>'.repeat(10)), /no end record/],
    ['a file cut short at its end', good.subarray(0, -30), /no end record/],
    ['a directory that lies outside', Buffer.concat([good.subarray(1000)]), /outside the file|breaks off/],
    ['a wrong checksum', makeZip([{ name: 'a', content: 'x', lies: { crc: 1 } }]), /wrong checksum/],
    ['a size too large', makeZip([{ name: 'a', content: 'x', lies: { size: 9 } }]), /shorter/],
    ['a size too small', makeZip([{ name: 'a', content: long, lies: { size: 9 } }]), /longer/],
    ['../ in a name', makeZip([{ name: 'a/../../b', content: 'x' }]), /outside the directory/],
    ['an absolute name', makeZip([{ name: '/etc/passwd', content: 'x' }]), /outside the directory/],
    ['a backslash in a name', makeZip([{ name: '..\\b', content: 'x' }]), /outside the directory/],
    ['a symbolic link', makeZip([{ name: 'a', content: '/etc', mode: 0o120777 }]), /symbolic link/],
    ['a name twice', makeZip([{ name: 'a' }, { name: 'a' }]), /twice/],
  ]
  test.each(cases)('%s', async (_, bytes, message) => {
    const reading = contents(bytes)
    await expect(reading).rejects.toThrow(BrokenArchiveError)
    await expect(reading).rejects.toThrow(message)
  })

  test('bytes damaged on the way', async () => {
    const damaged = Buffer.from(good)
    damaged.fill(0xff, 40, 80)
    await expect(contents(damaged)).rejects.toThrow(BrokenArchiveError)
  })

  test('cut short anywhere, never taken for whole', async () => {
    const small = makeZip([{ name: 'a', content: 'some text' }])
    for (let length = 0; length < small.length; length++)
      await expect(contents(small.subarray(0, length)), `at ${length}`).rejects.toThrow(BrokenArchiveError)
  })
})

describe('unpacking', () => {
  const signal = new AbortController().signal

  test('chosen entries, their places and their modes', async () => {
    const zip = await openZip(
      onDisk(
        makeZip([
          { name: 'lib/' },
          { name: 'lib/a.so', content: 'a', mode: 0o100755 },
          { name: 'other', content: 'b' },
        ]),
      ),
    )
    const into = temporaryDirectory()
    await unpack({ zip, into, place: name => (name.startsWith('lib/') ? `moved/${name}` : undefined), signal })
    await zip.close()
    expect(readFileSync(join(into, 'moved/lib/a.so'), 'utf8')).toBe('a')
    expect(statSync(join(into, 'moved/lib/a.so')).mode & 0o111).not.toBe(0)
    expect(existsSync(join(into, 'other'))).toBe(false)
  })

  test('an entry whose digest is another, or is missing', async () => {
    for (const digests of [new Map([['a', 'wrong']]), new Map<string, string>()]) {
      const zip = await openZip(onDisk(makeZip([{ name: 'a', content: 'a' }])))
      await expect(unpack({ zip, into: temporaryDirectory(), place: name => name, digests, signal })).rejects.toThrow(
        /RECORD/,
      )
      await zip.close()
    }
  })
})
