import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ZstdDecoder } from '../../src/data/files/zstd.js'
import { dataFolder, epochOf, rowsOfFile, tokenizer } from '../support/data.js'

const fixtures = fileURLToPath(new URL('../fixtures/data-sets', import.meta.url))
const fixture = (name: string): Buffer => readFileSync(join(fixtures, name))
const json = (name: string) => JSON.parse(fixture(name).toString())
const { folder, open, write } = dataFolder()

const rows: unknown[] = fixture('rows.jsonl')
  .toString()
  .trimEnd()
  .split('\n')
  .map(line => JSON.parse(line))

describe('the same rows', () => {
  it.each([
    ['rows.jsonl.gz', 'rows.jsonl.gz:3'],
    ['members.jsonl.gz', 'members.jsonl.gz:3'],
    ['rows.jsonl.zst', 'rows.jsonl.zst:3'],
    ['frames.jsonl.zst', 'frames.jsonl.zst:3'],
    ['rows.csv.gz', 'rows.csv.gz:6'],
    ['rows.json.zst', 'rows.json.zst, row 3'],
    ['rows.parquet', 'rows.parquet, row 3'],
    ['rows.feather', 'rows.feather, row 3'],
    ['file-zstd.arrow', 'file-zstd.arrow, row 3'],
    ['stream.arrow', 'stream.arrow, row 3'],
    ['polars.arrow', 'polars.arrow, row 3'],
  ])('are in %s, in any order, with their places', async (name, third) => {
    const { scanned, read, wheres, bad } = await rowsOfFile(join(fixtures, name), name)
    expect(bad).toEqual([])
    expect(scanned).toEqual(rows)
    expect(read).toEqual(rows)
    expect(wheres[2]).toBe(third)
  })

  it('have the same names in every form, so that a run can go on from another', async () => {
    const names = async (path: string) => {
      const dataset = await open('conversations', join(fixtures, path), { validationShare: 0.2 })
      const examples = await epochOf(dataset.train(tokenizer))
      return examples.map(({ sequence }) => sequence.promptId)
    }
    const expected = await names('rows.jsonl')
    for (const name of ['rows.jsonl.gz', 'rows.csv.gz', 'rows.parquet', 'stream.arrow', 'saved', 'rows.jsonl.zst'])
      expect(await names(name)).toEqual(expected)
  })

  it('are found whatever the file is called, if its bytes say what it is', async () => {
    write('named.jsonl', fixture('rows.jsonl.gz'))
    expect((await open('conversations', 'named.jsonl')).report.rows).toBe(24)
    write('plain.jsonl.gz', fixture('rows.jsonl'))
    await expect(open('conversations', 'plain.jsonl.gz')).rejects.toThrow('plain.jsonl.gz: not a gzip file')
  })
})

describe('every type of column', () => {
  it.each(['types.arrow', 'types-lz4.arrow', 'types-zstd.arrow'])('of %s', async name => {
    expect((await rowsOfFile(join(fixtures, name))).read).toEqual(json('types.json').arrow)
  })

  it('of types.parquet', async () => {
    expect((await rowsOfFile(join(fixtures, 'types.parquet'))).read).toEqual(json('types.json').parquet)
  })

  it.each(['features.parquet', 'features/data-00000-of-00001.arrow'])(
    'that datasets describes: classes by name, JSON, images as bytes, in %s',
    async name => {
      expect((await rowsOfFile(join(fixtures, name))).read).toEqual(json('features.json'))
    },
  )

  it('of a dictionary that grows, and of blocks that refer to each other', async () => {
    const { read } = await rowsOfFile(join(fixtures, 'growing.arrow'))
    expect(read).toEqual([
      { kind: 'b', text: 'b'.repeat(150_000) },
      { kind: 'a', text: 'end' },
      { kind: 'c', text: 'c'.repeat(150_000) },
      { kind: 'a', text: 'end' },
    ])
  })
})

describe('a file that is cut short', () => {
  it.each([
    ['rows.jsonl.gz', /not a whole gzip file \(the data ends too early, at byte \d+, in line \d+ of the rows\)/],
    ['rows.jsonl.zst', /not a whole Zstandard file \(the data ends too early, at byte \d+, in line \d+ of the rows\)/],
    [
      'frames.jsonl.zst',
      /not a whole Zstandard file \(the data ends too early, at byte \d+, in line \d+ of the rows\)/,
    ],
    [
      'rows.feather',
      /not a whole Arrow file \(the file ends too early, at byte \d+; \d+ rows were read, up to byte \d+\)/,
    ],
    [
      'stream.arrow',
      /not a whole Arrow file \(the file ends too early, at byte \d+; \d+ rows were read, up to byte \d+\)/,
    ],
    ['rows.parquet', /not a whole Parquet file \(.*\)/],
  ])('%s is refused wherever it ends, with the place', async (name, message) => {
    const whole = fixture(name)
    const ends = new Set([
      whole.length - 1,
      ...Array.from({ length: 25 }, (_, i) => Math.floor((i * whole.length) / 25)),
    ])
    for (const end of [...ends].filter(end => end > 4)) {
      write(`cut-${name}`, whole.subarray(0, end))
      await expect(open('conversations', `cut-${name}`), `cut at ${end}`).rejects.toThrow(message)
    }
  })

  it('the place is that of the rows', async () => {
    write(
      'place.jsonl.gz',
      gzipSync(Array.from({ length: 5000 }, (_, i) => `{"text":"${Math.sin(i)}"}\n`).join('')).subarray(0, 30_000),
    )
    await expect(open('conversations', 'place.jsonl.gz')).rejects.toThrow(
      /at byte 30000, in line [23]\d\d\d of the rows/,
    )
  })
})

describe('a file that is damaged', () => {
  it.each(['rows.jsonl.zst', 'rows.jsonl.gz'])('%s gives its rows or an error, never others', async name => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 255 }), async (place, change) => {
        const bytes = Buffer.from(fixture(name))
        bytes[place % bytes.length]! ^= change
        write(`damaged-${name}`, bytes)
        const found = await rowsOfFile(join(folder, `damaged-${name}`)).catch((error: Error) => error)
        if (!(found instanceof Error)) expect(found.scanned).toEqual(rows)
        else expect(found.message).toMatch(/damaged-.*: /)
      }),
      { numRuns: 120 },
    )
  })

  it.each(['types-lz4.arrow', 'types-zstd.arrow', 'rows.feather'])('%s never does more than fail', async name => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 255 }), async (place, change) => {
        const bytes = Buffer.from(fixture(name))
        bytes[place % bytes.length]! ^= change
        write(`damaged-${name}`, bytes)
        const found = await rowsOfFile(join(folder, `damaged-${name}`)).catch((error: Error) => error)
        if (found instanceof Error) expect(found.message).toMatch(/not a whole Arrow file/)
      }),
      { numRuns: 120 },
    )
  })
})

it('a window of Zstandard that would fill the memory is refused', async () => {
  const decoder = await ZstdDecoder.create()
  expect(() => [...decoder.push(Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0xb0, 0, 0, 0]))]).toThrow(
    'its window is 4096 MiB, more than 32',
  )
})

it('bytes of Zstandard may come in any parts', async () => {
  const whole = fixture('frames.jsonl.zst')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1 }), async sizes => {
      const decoder = await ZstdDecoder.create()
      const parts: Uint8Array[] = []
      for (let [at, i] = [0, 0]; at < whole.length; at += sizes[i++ % sizes.length]!)
        parts.push(...decoder.push(whole.subarray(at, at + sizes[i % sizes.length]!)))
      decoder.end()
      expect(Buffer.concat(parts).equals(fixture('rows.jsonl'))).toBe(true)
    }),
    { numRuns: 40 },
  )
})
