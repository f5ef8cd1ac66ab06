import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LogTail, Run, RunReader } from '../../src/run/index.js'
import { temporaryDirectory } from '../support/files.js'
import { identity } from '../support/run.js'

test('a tail reads each line once, whatever happens to its file', async () => {
  const path = join(temporaryDirectory(), 'log')
  const tail = new LogTail(path)
  let lines: string[] = []
  let restarts = 0
  const read = () =>
    tail.read({
      restart: () => {
        restarts++
        lines = []
      },
      line: bytes => lines.push(bytes.toString()),
    })
  await read()
  expect({ lines, restarts }).toEqual({ lines: [], restarts: 0 })
  writeFileSync(path, 'one\ntw')
  await read()
  appendFileSync(path, 'o\nthree\n')
  await read()
  expect(await read()).toBe(false)
  expect({ lines, restarts }).toEqual({ lines: ['one', 'two', 'three'], restarts: 0 })
  // A resume cuts the log and writes on; the reader looks only after that.
  truncateSync(path, 4)
  appendFileSync(path, 'other\nlonger than before\n')
  await read()
  expect({ lines, restarts }).toEqual({ lines: ['one', 'other', 'longer than before'], restarts: 1 })
  rmSync(path)
  writeFileSync(path, 'a new file, which is as long as the one before it was\n')
  await read()
  expect({ lines, restarts }).toEqual({ lines: ['a new file, which is as long as the one before it was'], restarts: 2 })
  rmSync(path)
  await read()
  expect({ lines, restarts }).toEqual({ lines: [], restarts: 3 })
  // Another process goes on where the mark of the first one is.
  writeFileSync(path, 'a\nb\n')
  await read()
  const next = new LogTail(path, tail.mark)
  appendFileSync(path, 'c\n')
  const seen: string[] = []
  await next.read({ restart: () => seen.push('restart'), line: (bytes, line) => seen.push(`${line} ${bytes}`) })
  expect(seen).toEqual(['3 c'])
})

test('a long log is read from its index, and again from the log where it was cut', async () => {
  const directory = join(temporaryDirectory(), 'run')
  const run = await Run.create(directory, identity())
  await run.close('stopped')
  const log = join(directory, 'logs/metrics.jsonl')
  const line = (step: number, values: Record<string, unknown>): string =>
    `${JSON.stringify({ step, time: new Date(step * 1000).toISOString(), values })}\n`
  let text = ''
  for (let step = 1; step <= 6000; step++)
    text += line(step, {
      'loss/train': step === 7 ? 'NaN' : 1 / step,
      ...(step % 100 === 0 ? { 'loss/validation': step } : {}),
    })
  writeFileSync(log, `${text}not json\n`)
  const first = await new RunReader(directory).read()
  expect(existsSync(join(directory, 'index/metrics.bin'))).toBe(true)
  const again = await new RunReader(directory).read()
  expect([...again.metrics]).toEqual([...first.metrics])
  expect(again.metrics.get('loss/train')![6]!.value).toBeNaN()
  expect(again.metrics.get('loss/validation')).toHaveLength(60)
  expect(again.badLines).toEqual([`${log}:6001`])
  // What comes after the index is added to what the index has.
  const longer = new RunReader(directory)
  await longer.read()
  appendFileSync(log, line(6001, { 'loss/train': 5, 'loss/new': 6 }))
  const grown = await longer.read()
  expect(grown.metrics.get('loss/train')!.slice(0, 6000)).toEqual(first.metrics.get('loss/train'))
  expect(grown.metrics.get('loss/train')!.slice(6000)).toMatchObject([{ step: 6001, value: 5 }])
  expect(grown.metrics.get('loss/validation')).toEqual(first.metrics.get('loss/validation'))
  expect(grown.metrics.get('loss/new')).toMatchObject([{ step: 6001, value: 6 }])
  const reader = new RunReader(directory)
  await reader.read()
  writeFileSync(log, readFileSync(log, 'utf8').slice(0, text.indexOf('"step":5001') - 1))
  appendFileSync(log, line(5001, { 'loss/train': 42 }))
  for (const one of [reader, new RunReader(directory)]) {
    const cut = await one.read()
    expect(cut.step).toBe(5001)
    expect(cut.metrics.get('loss/train')!.at(-1)!.value).toBe(42)
  }
  // A reader of samples alone has no metrics in memory.
  const without = await new RunReader(directory, { metrics: false }).read()
  expect([without.status, without.metrics.size]).toEqual(['stopped', 0])
  // A damaged index is not believed, neither its head nor a column that is read later.
  mkdirSync(join(directory, 'index'), { recursive: true })
  const index = join(directory, 'index/metrics.bin')
  const bytes = readFileSync(index)
  bytes[bytes.length - 9]! ^= 1
  for (const damaged of [bytes, bytes.subarray(0, -8), '{"version":1}\nrubbish']) {
    writeFileSync(index, damaged)
    const { step, metrics } = await new RunReader(directory).read()
    expect([step, metrics.get('loss/validation')!.length, metrics.get('loss/validation')!.at(-1)!.value]).toEqual([
      5001, 50, 5000,
    ])
  }
  // A reader goes on with the file it has, when another one takes its place.
  rmSync(index)
  await new RunReader(directory).read()
  const early = await new RunReader(directory).read()
  writeFileSync(`${index}.new`, 'rubbish')
  renameSync(`${index}.new`, index)
  expect(early.metrics.get('loss/train')!.at(-1)!.value).toBe(42)
})
