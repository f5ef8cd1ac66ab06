import { mkdirSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Run } from '../../src/run/index.js'
import { crc32c } from '../../src/run/loggers/crc32c.js'
import { tensorBoardLogger } from '../../src/run/loggers/tensorboard.js'
import { temporaryDirectory } from '../support/files.js'
import { identity, write } from '../support/run.js'
import { readEventFile } from './event-file.js'

const eventFiles = (directory: string) =>
  readdirSync(join(directory, 'logs'))
    .filter(name => name.startsWith('events.out.tfevents.'))
    .sort()
    .map(name => join(directory, 'logs', name))

test('the checksum is the one of the standard', () => {
  // RFC 3720, B.4.
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa)
  expect(crc32c(new Uint8Array(32).fill(255))).toBe(0x62a8ab43)
  expect(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i))).toBe(0x46dd794e)
})

test('scalars are read back by another reader, with a purge where the run was resumed', async () => {
  const directory = temporaryDirectory()
  const first = await Run.create(directory, identity())
  first.metrics(1, { 'loss/train': 2.5, lr: 1e-4 })
  // Of optimiser step 8: a trainer may count iterations in its metrics.
  await first.checkpoint(8, {}, write('w', ''))
  first.metrics(300, { 'loss/train': Number.NaN })
  await first.close('stopped')
  const second = await Run.resume(directory, identity())
  second.metrics(2 ** 33, { 'loss/train': -1 })
  await second.close('finished')
  const [one, two, ...more] = eventFiles(directory).map(readEventFile)
  expect(more).toEqual([])
  const now = Date.now() / 1000
  for (const { wallTime } of [...one!, ...two!]) expect(Math.abs(wallTime - now)).toBeLessThan(60)
  const plain = (events: typeof one) => events!.map(({ wallTime: _, texts: __, ...event }) => event)
  const start = { version: 'brain.Event:2', step: 0, sessionStart: false, scalars: {} }
  const config = { step: 0, sessionStart: false, scalars: {} }
  expect(plain(one)).toEqual([
    start,
    config,
    { step: 1, sessionStart: false, scalars: { 'loss/train': 2.5, lr: Math.fround(1e-4) } },
    { step: 300, sessionStart: false, scalars: { 'loss/train': Number.NaN } },
  ])
  expect(plain(two)).toEqual([
    start,
    { step: 2, sessionStart: true, scalars: {} },
    config,
    { step: 2 ** 33, sessionStart: false, scalars: { 'loss/train': -1 } },
  ])
})

test('nothing stays open between writes: a run may end without a word to its loggers', async () => {
  const directory = temporaryDirectory()
  const logger = tensorBoardLogger()
  const { signal } = new AbortController()
  mkdirSync(join(directory, 'logs'))
  await logger.start!({ directory, config: {}, from: undefined } as never, { signal })
  expect(eventFiles(directory)).toHaveLength(1)
  const open = readdirSync('/proc/self/fd').map(fd => {
    try {
      return readlinkSync(join('/proc/self/fd', fd))
    } catch {
      return ''
    }
  })
  expect(open.filter(path => path.startsWith(directory))).toEqual([])
})
