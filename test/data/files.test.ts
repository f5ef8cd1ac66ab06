import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { describe, expect, it } from 'vitest'
import { EpochOrder } from '../../src/data/epoch-order.js'
import { csvCells } from '../../src/data/files/csv.js'
import { GrowingList, RowIndex } from '../../src/data/files/row-index.js'
import { type RowBoundary, RowSplitter } from '../../src/data/files/row-splitter.js'
import { segmentPattern } from '../../src/data/patterns.js'
import { hashRow, RepeatCounter } from '../../src/data/row-id.js'
import { Permutation } from '../../src/data/shuffle.js'
import { dataFolder, epochOf, rowsOfFile, tokenizer } from '../support/data.js'

const { folder, jsonl, open, write } = dataFolder()

const rowsOf = (name: string) => rowsOfFile(join(folder, name), name)

/** Text that a writer of CSV would have to think about. */
const cell = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r\n', ' ', 'é', '🙂', ';'), maxLength: 12 }),
  fc.string({ unit: 'grapheme' }),
)
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
const plain = (text: string) => (/[",\r\n]/.test(text) ? quoted(text) : text)

describe('CSV', () => {
  it('gives back every cell that was quoted as RFC 4180 has it', () => {
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 6 }), fc.boolean(), (cells, always) => {
        fc.pre(cells.length > 1 || cells[0] !== '' || always)
        expect(csvCells(cells.map(always ? quoted : plain).join(','))).toEqual(cells)
      }),
    )
  })

  it('finds rows wherever lines and chunks of the file end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 20 }),
        fc.constantFrom('\n', '\r\n'),
        async (rows, end) => {
          const lines = [['a', 'b'], ...rows].map(cells => cells.map(quoted).join(','))
          write('property.csv', lines.join(end) + end)
          const { scanned, read } = await rowsOf('property.csv')
          expect(scanned).toEqual(rows.map(([a, b]) => ({ a, b })))
          expect(read).toEqual(scanned)
        },
      ),
      { numRuns: 50 },
    )
  })

  it('takes a quote inside a plain cell for itself, and says which rows are wrong', async () => {
    write('odd.csv', '\uFEFFname,size\r\npipe,5"\n"two\nlines",1\na,b,c\n"x"y,1\nlast,1')
    expect(await rowsOf('odd.csv')).toMatchObject({
      scanned: [
        { name: 'pipe', size: '5"' },
        { name: 'two\nlines', size: '1' },
        { name: 'last', size: '1' },
      ],
      wheres: ['odd.csv:2', 'odd.csv:3', 'odd.csv:7'],
      bad: [
        'odd.csv:5: 3 cells, but the header has 2 (name, size); quote cells that contain a ","',
        'odd.csv:6: cell 1: text after a closing quote; double the quotes inside a cell',
      ],
    })
    write('open.csv', 'a,b\n"x,1\ny,2\n')
    await expect(rowsOf('open.csv')).rejects.toThrow('open.csv: a quote is opened and not closed before the file ends')
    write('twice.csv', 'a,a\n1,2\n')
    await expect(rowsOf('twice.csv')).rejects.toThrow('twice.csv:1: column 2: is called a like another')
    write('unnamed.csv', 'a,\n1,2\n')
    await expect(rowsOf('unnamed.csv')).rejects.toThrow('unnamed.csv:1: column 2: has no name')
  })
})

describe('a JSON list', () => {
  it('is read an element at a time, whatever is in it and however it is spaced', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 12 }), fc.constantFrom(0, 2), async (rows, space) => {
        write('property.json', `\uFEFF ${JSON.stringify(rows, null, space)}\n`)
        const { scanned, read } = await rowsOf('property.json')
        expect(scanned).toEqual(JSON.parse(JSON.stringify(rows)))
        expect(read).toEqual(scanned)
      }),
      { numRuns: 60 },
    )
  })

  it.each([
    ['[{"a":1}', /not JSON \(the list does not end\)/],
    ['[{"a":1}] x', /not JSON \(text after the list\)/],
    ['{"a":1}', /expected a list of rows; a file with one row per line/],
    ['"a"', /expected a list of rows/],
  ])('%s is refused', async (text, message) => {
    write('wrong.json', text)
    await expect(rowsOf('wrong.json')).rejects.toThrow(message)
  })

  it('with a bad element has the number of it', async () => {
    write('element.json', '[{"a":1}, {"a":}, {"a":3}]')
    const { scanned, bad } = await rowsOf('element.json')
    expect(scanned).toEqual([{ a: 1 }, { a: 3 }])
    expect(bad).toEqual([expect.stringMatching(/^element\.json, row 2: not JSON/)])
  })
})

describe('files from elsewhere', () => {
  it('may have a mark, other line ends and no end', async () => {
    write('marks.jsonl', '\uFEFF{"a":1}\r\n{"a":"x\u2028y"}\r\n\r\n{"a":3}')
    expect(await rowsOf('marks.jsonl')).toMatchObject({
      scanned: [{ a: 1 }, { a: 'x\u2028y' }, { a: 3 }],
      wheres: ['marks.jsonl:1', 'marks.jsonl:2', 'marks.jsonl:4'],
      bad: ['marks.jsonl:3: an empty line between rows; remove it'],
    })
  })

  it('with a line of 100 MB lose that line, not the memory of the process', async () => {
    const huge = Buffer.alloc(100e6, 'x')
    const whole = [Buffer.from('{"text":"a"}\n{"text":"'), huge, Buffer.from('"}\n{"text":"b"}\n')]
    write('huge.jsonl', Buffer.concat(whole))
    const dataset = await open('conversations', 'huge.jsonl', { maxBadRows: 1 })
    expect(dataset.report).toMatchObject({ rows: 2, skipped: { 'too-large': 1 } })
    const wheres = (await epochOf(dataset.train(tokenizer))).map(({ where }) => where)
    expect(wheres.sort()).toEqual(['huge.jsonl:1', 'huge.jsonl:3'])
    await expect(open('conversations', 'huge.jsonl')).rejects.toThrow(
      'huge.jsonl:2: 101 MB in one row, more than 16 MiB; shorten it, or remove it',
    )
  })

  it('that are compressed, cut short or no text are refused with what to do', async () => {
    write('packed.jsonl', Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(20)]))
    await expect(open('conversations', 'packed.jsonl')).rejects.toThrow(
      'packed.jsonl: compressed with zip, which is not supported; unpack it first (unzip)',
    )
    write('rows.parquet.gz', gzipSync('PAR1'))
    await expect(open('conversations', 'rows.parquet.gz')).rejects.toThrow(
      'rows.parquet.gz: compressed with gzip from outside; unpack it first',
    )
    write('bytes.jsonl', Buffer.concat([Buffer.from('{"text":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}\n')]))
    await expect(open('conversations', 'bytes.jsonl')).rejects.toThrow('bytes.jsonl:1: expected UTF-8 text')
    const parquet = Buffer.from(
      parquetWriteBuffer({ columnData: [{ name: 'text', data: ['a', 'b'], type: 'STRING' }] }),
    )
    write('cut.parquet', parquet.subarray(0, parquet.length - 20))
    await expect(open('conversations', 'cut.parquet')).rejects.toThrow(
      /cut\.parquet: not a whole Parquet file \(.*\); fetch/,
    )
    write('tiny.parquet', 'PAR1')
    await expect(open('conversations', 'tiny.parquet')).rejects.toThrow(/tiny\.parquet: not a whole Parquet file/)
    // The table of contents is whole, and the data in front of it is not.
    const hollow = Buffer.from(parquet)
    hollow.fill(0xff, 4, 40)
    write('hollow.parquet', hollow)
    await expect(open('conversations', 'hollow.parquet')).rejects.toThrow(/hollow\.parquet: not a whole Parquet file/)
  })

  it('with rows that nest too deep lose those rows, not the stack', async () => {
    const deep = `{"text":"a","x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
    write('deep.jsonl', `{"text":"fine"}\n${deep}\n`)
    await expect(open('conversations', 'deep.jsonl')).rejects.toThrow(
      'deep.jsonl:2: the row is nested deeper than 200 levels',
    )
  })

  it('that change while they are in use are noticed', async () => {
    jsonl('changing.jsonl', [{ text: 'first' }, { text: 'second' }])
    const stream = (await open('conversations', 'changing.jsonl', { shuffle: false })).train(tokenizer)
    write('changing.jsonl', '{"text":"fi')
    await expect(stream.take(2)).rejects.toThrow('changing.jsonl:1: the row has changed')
    expect(stream.cursor).toEqual({ epoch: 0, position: 0 })
    jsonl('changing.jsonl', [{ text: 'first' }, { text: 'second' }])
    expect(await stream.take(2)).toHaveLength(2)
  })

  it('stop being read when they are no longer wanted', async () => {
    jsonl('stopped.jsonl', [{ text: 'a' }])
    const reason = new Error('enough')
    await expect(open('conversations', 'stopped.jsonl', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })
})

describe('what an index is made of', () => {
  it('rows are the same however the bytes come', () => {
    const lines: RowBoundary = {
      next: (chunk, from) => chunk.indexOf(10, from) + 1 || -1,
      openEnded: true,
      lines: 'counted',
    }
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 9 })), chunks => {
        const splitter = new RowSplitter(lines)
        const rows = [...chunks.flatMap(chunk => [...splitter.push(Buffer.from(chunk))]), ...splitter.end()]
        const text = chunks.join('')
        expect(rows.map(({ bytes }) => String(bytes)).join('')).toBe(text)
        expect(rows.map(({ line }) => line)).toEqual(rows.map((_, i) => i + 1))
        for (const { start, length, bytes } of rows) expect(text.slice(start, start + length)).toBe(String(bytes))
      }),
    )
  })

  it('lines are kept where rows are left out or take several', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 3 })), steps => {
        const index = new RowIndex()
        let line = 0
        const lines = steps.map(step => (line += step))
        for (const [i, at] of lines.entries()) index.add({ start: i * 10, length: i, line: at })
        expect(lines.map((_, i) => index.at(i))).toEqual(lines.map((at, i) => ({ start: i * 10, length: i, line: at })))
      }),
    )
  })

  it('lists grow beyond a piece', () => {
    const list = new GrowingList(Float64Array)
    for (let i = 0; i < 40_000; i++) list.push(i * 3)
    expect([0, 16_383, 16_384, 39_999].map(i => list.at(i))).toEqual([0, 49_149, 49_152, 119_997])
  })

  it('a permutation has every number once, and others for another key', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), fc.string(), (size, key) => {
        const order = new Permutation(size, key)
        const values = Array.from({ length: size }, (_, i) => order.at(i))
        expect([...values].sort((a, b) => a - b)).toEqual(values.map((_, i) => i))
      }),
      { numRuns: 50 },
    )
    // Every number lands everywhere about as often: 40 places for 20 numbers over 4000 keys, within five deviations.
    const hits = Array.from({ length: 20 }, () => new Array<number>(20).fill(0))
    for (let key = 0; key < 4000; key++) {
      const order = new Permutation(20, `${key}`)
      for (let i = 0; i < 20; i++) hits[i]![order.at(i)]!++
    }
    for (const count of hits.flat()) expect(Math.abs(count - 200)).toBeLessThan(5 * Math.sqrt(200))
    const large = new Permutation(3e9, 'k')
    expect(new Set([0, 1, 2, 2e9].map(i => large.at(i))).size).toBe(4)
  })

  it('an epoch visits as its weights say', () => {
    const order = new EpochOrder({
      sources: [
        { size: 3, weight: 2.5 },
        { size: 0, weight: 1 },
        { size: 4, weight: 0.25 },
      ],
      seed: 1,
      shuffle: false,
    })
    expect(order.size).toBe(9)
    const visits = (epoch: number) =>
      Array.from({ length: 9 }, (_, i) => order.at(epoch, i)).map(
        ({ source, place, copy }) => `${source}${place}${copy}`,
      )
    expect(visits(0)).toEqual(['000', '010', '020', '001', '011', '021', '002', '012', '200'])
    expect(visits(1).slice(6)).toEqual(['022', '002', '210'])
  })

  it('rows have the same name whatever the order of their columns, and another for another row', () => {
    const { hex } = hashRow({ a: 1, b: { c: ['x', 2], d: true }, e: null })
    expect(hashRow({ b: { d: true, c: ['x', 2] }, a: 1 }).hex).toBe(hex)
    const others = [
      { a: 1 },
      { a: '1' },
      { a: [1] },
      { a: { b: 1 } },
      { a: 'b', c: 'd' },
      { a: 'bs1:cs1:d' },
      { a: true },
      { a: 'true' },
    ]
    expect(new Set(others.map(row => hashRow(row).hex)).size).toBe(others.length)
  })

  it('rows that repeat are counted', () => {
    const counter = new RepeatCounter()
    expect(Array.from({ length: 200_000 }, (_, i) => counter.count(i * 7919)).every(times => times === 1)).toBe(true)
    expect([counter.count(0), counter.count(0), counter.count(7919), counter.count(5)]).toEqual([2, 3, 2, 1])
  })

  it('patterns match names', () => {
    const matches = (pattern: string, name: string) => segmentPattern(pattern).test(name)
    expect(matches('*.jsonl', 'a.jsonl')).toBe(true)
    expect(matches('*.jsonl', 'axjsonl')).toBe(false)
    expect(matches('part-[0-9]?.{csv,json}', 'part-12.json')).toBe(true)
    expect(matches('part-[!0-9].csv', 'part-1.csv')).toBe(false)
    expect(matches('a(b)+$', 'a(b)+$')).toBe(true)
  })
})
