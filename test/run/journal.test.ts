import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { FileWriteError } from '../../src/files/index.js'
import { exactParse, exactStringify, Journal, JournalError, type JournalRecord } from '../../src/run/index.js'
import { fullDisk, handlePrototype, systemError } from '../support/file-faults.js'
import { temporaryDirectory } from '../support/files.js'

afterEach(() => vi.restoreAllMocks())

const sample = (n: number): JournalRecord => ({ kind: 'sample', promptId: 'p3', sample: n, reward: n / 3 })
const records = async (journal: Journal, iteration = 12): Promise<JournalRecord[]> =>
  (await journal.read(iteration)).map(({ record }) => record)

test('records come back as they were, in order, with file and line', async () => {
  const directory = temporaryDirectory()
  const journal = new Journal(directory)
  const logprobs = Float32Array.of(-0.1, Number.NaN, -0)
  const appended = journal.append(12, {
    kind: 'sample',
    ids: Int32Array.of(1, -2),
    logprobs,
    row: { $x: 1, gone: undefined },
  })
  logprobs[0] = 7
  await appended
  await Promise.all([1, 2, 3].map(n => journal.append(12, sample(n))))
  await journal.append(7, { kind: 'done' })
  const read = await journal.read(12)
  expect(read.map(({ file, line }) => [file, line])).toEqual(
    [1, 2, 3, 4].map(line => [join(directory, '000012.jsonl'), line]),
  )
  expect(read[0]!.record).toEqual({
    kind: 'sample',
    ids: Int32Array.of(1, -2),
    logprobs: Float32Array.of(-0.1, Number.NaN, -0),
    row: { $x: 1 },
  })
  expect(read.slice(1).map(({ record }) => record)).toEqual([1, 2, 3].map(sample))
  expect(await journal.iterations()).toEqual([7, 12])
  await journal.discardFrom(8)
  expect(await journal.iterations()).toEqual([7])
  expect(await journal.read(12)).toEqual([])
  await journal.append(12, sample(5))
  expect(await records(journal)).toEqual([sample(5)])
  await journal.close()
  // Every line is JSON to other programs.
  expect(JSON.parse(readFileSync(join(directory, '000007.jsonl'), 'utf8')).record).toEqual({ kind: 'done' })
})

test('any JSON, any typed array and any number survive', () => {
  const bytes = fc.uint8Array({ maxLength: 40 })
  const wide = <T>(make: (buffer: ArrayBuffer) => T, width: number) =>
    bytes.map(some => make(new Uint8Array(some.slice(0, some.length - (some.length % width))).buffer))
  const { value } = fc.letrec(tie => ({
    value: fc.oneof(
      fc.constant(null),
      fc.boolean(),
      fc.double(),
      fc.string(),
      bytes,
      wide(buffer => new Float32Array(buffer), 4),
      wide(buffer => new Float64Array(buffer), 8),
      wide(buffer => new BigInt64Array(buffer), 8),
      wide(buffer => new Uint16Array(buffer), 2),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('$number', '$$', '$float32', '__proto__')), tie('value'), {
        maxKeys: 4,
        noNullPrototype: true,
      }),
    ),
  }))
  fc.assert(
    fc.property(value, one => {
      const back = exactParse(exactStringify(one as never))
      expect(back).toStrictEqual(one)
      // toStrictEqual does not look at the bits of a NaN.
      if (one instanceof Float32Array)
        expect(Buffer.from((back as Float32Array).buffer)).toEqual(Buffer.from(one.buffer))
    }),
  )
})

test('records that come together share one write and one sync', async () => {
  const prototype = await handlePrototype()
  const write = vi.spyOn(prototype, 'write')
  const sync = vi.spyOn(prototype, 'datasync')
  const journal = new Journal(temporaryDirectory())
  await journal.append(1, sample(0))
  expect([write.mock.calls.length, sync.mock.calls.length]).toEqual([1, 1])
  await Promise.all(Array.from({ length: 100 }, (_, n) => journal.append(1, sample(n))))
  // The first of them may go alone.
  expect(write.mock.calls.length).toBeLessThanOrEqual(3)
  expect(sync.mock.calls.length).toBe(write.mock.calls.length)
  await journal.close()
})

test('a line that was cut off is left out wherever it was cut, and appending goes on after the last whole one', async () => {
  const whole = temporaryDirectory()
  const journal = new Journal(whole)
  for (const n of [1, 2]) await journal.append(12, sample(n))
  await journal.close()
  const bytes = readFileSync(join(whole, '000012.jsonl'))
  const first = bytes.indexOf(10) + 1
  for (let size = first; size < bytes.length; size += 7) {
    const directory = temporaryDirectory()
    const file = join(directory, '000012.jsonl')
    writeFileSync(file, bytes.subarray(0, size))
    const torn = new Journal(directory)
    expect(await records(torn)).toEqual([sample(1)])
    await torn.append(12, sample(9))
    expect(await records(torn)).toEqual([sample(1), sample(9)])
    await torn.close()
  }
  // What a machine leaves that lost power before the disk had written the blocks.
  const directory = temporaryDirectory()
  writeFileSync(
    join(directory, '000012.jsonl'),
    Buffer.concat([bytes.subarray(0, first), Buffer.alloc(4096), Buffer.from('\n')]),
  )
  expect(await records(new Journal(directory))).toEqual([sample(1)])
})

test.each([1, 2, 3])('a changed byte in line %i is named, with what the record says of itself', async line => {
  const directory = temporaryDirectory()
  const file = join(directory, '000012.jsonl')
  const journal = new Journal(directory)
  for (const n of [1, 2, 3]) await journal.append(12, sample(n))
  await journal.close()
  const lines = readFileSync(file, 'utf8').split('\n')
  lines[line - 1] = lines[line - 1]!.replace(/("reward":\d?\.?\d*)\d/, (_, start: string) => `${start}8`)
  writeFileSync(file, lines.join('\n'))
  const error = await new Journal(directory).read(12).catch((one: unknown) => one)
  expect(error).toBeInstanceOf(JournalError)
  expect(error).toMatchObject({ file, line, record: { kind: 'sample', promptId: 'p3', sample: line } })
  expect((error as Error).message).toBe(
    `${file}:${line}: the checksum does not match: the record (kind sample, promptId p3, sample ${line}) has changed since it was written`,
  )
  // Nothing is written behind damage.
  await expect(new Journal(directory).append(12, sample(4))).rejects.toThrow(JournalError)
})

test.each(['ENOSPC', 'EIO'])(
  '%s in the middle of a write: the append is refused, nothing of it stays, a later one succeeds',
  async code => {
    const directory = temporaryDirectory()
    const journal = new Journal(directory)
    await journal.append(12, sample(1))
    await fullDisk(code, 11)
    const failed = await Promise.allSettled([journal.append(12, sample(2)), journal.append(12, sample(3))])
    expect(failed.map(result => result.status)).toEqual(['rejected', 'rejected'])
    for (const result of failed)
      expect((result as PromiseRejectedResult).reason).toMatchObject({
        name: 'FileWriteError',
        errno: code,
        path: join(directory, '000012.jsonl'),
      })
    expect(await records(journal)).toEqual([sample(1)])
    vi.restoreAllMocks()
    await journal.append(12, sample(4))
    expect(await records(journal)).toEqual([sample(1), sample(4)])
    await journal.close()
    expect(await records(new Journal(directory))).toEqual([sample(1), sample(4)])
  },
)

test('where not even the torn end can be cut off, the next append does it first', async () => {
  const prototype = await handlePrototype()
  const journal = new Journal(temporaryDirectory())
  await journal.append(12, sample(1))
  vi.spyOn(prototype, 'datasync').mockRejectedValue(systemError('EIO', 'fdatasync'))
  vi.spyOn(prototype, 'truncate').mockRejectedValue(systemError('EIO', 'ftruncate'))
  await expect(journal.append(12, { ...sample(2), text: 'x'.repeat(1000) })).rejects.toThrow(FileWriteError)
  await expect(journal.append(12, sample(3))).rejects.toThrow(FileWriteError)
  vi.restoreAllMocks()
  await journal.append(12, sample(4))
  expect(await records(journal)).toEqual([sample(1), sample(4)])
  await journal.close()
})

test('a file that cannot be made is an error of the append; other iterations are not touched', async () => {
  const directory = join(temporaryDirectory(), 'journal')
  const journal = new Journal(directory)
  await journal.append(1, sample(1))
  appendFileSync(join(directory, '000002.jsonl'), '{"journal":2,"crc32":"00000000","record":{"kind":"x"}}\n')
  const [bad, good] = await Promise.allSettled([journal.append(2, sample(1)), journal.append(3, sample(2))])
  expect([bad.status, good.status]).toEqual(['rejected', 'fulfilled'])
  for (let iteration = 10; iteration < 20; iteration++) await journal.append(iteration, sample(iteration))
  await journal.append(1, sample(3))
  expect(await records(journal, 1)).toEqual([sample(1), sample(3)])
  // Not one open file per iteration.
  const links = readdirSync('/proc/self/fd').length
  for (let iteration = 20; iteration < 60; iteration++) await journal.append(iteration, sample(iteration))
  expect(readdirSync('/proc/self/fd').length).toBeLessThan(links + 10)
  await journal.close()
})

test('a long journal is read piece by piece: others have their turn meanwhile', async () => {
  const journal = new Journal(temporaryDirectory())
  const count = 64
  const long = (n: number): JournalRecord => ({ kind: 'sample', sample: n, logprobs: new Float32Array(20_000).fill(n) })
  await Promise.all(Array.from({ length: count }, (_, n) => journal.append(12, long(n))))
  let turn = 0
  let reading = true
  const next = (): void => {
    turn++
    if (reading) setImmediate(next)
  }
  next()
  const inTurn = new Map<number, number>()
  const parse = JSON.parse.bind(JSON)
  vi.spyOn(JSON, 'parse').mockImplementation(text => {
    inTurn.set(turn, (inTurn.get(turn) ?? 0) + 1)
    return parse(text)
  })
  const read = await records(journal)
  vi.restoreAllMocks()
  reading = false
  expect(read.map(({ logprobs }) => (logprobs as Float32Array).at(-1))).toEqual(
    Array.from({ length: count }, (_, n) => n),
  )
  expect(Math.max(...inTurn.values())).toBeLessThan(count / 4)
  await journal.close()
})
