import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Run } from '../../src/run/index.js'
import { startChild } from '../support/child.js'
import { compiledRoom } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'
import { identity } from '../support/run.js'

/** A process that opens a run and says `held`, or why it could not, and keeps it until it is killed or its input ends. */
function holder(directory: string) {
  const child = startChild(new URL('./children/hold-run.mjs', import.meta.url), [compiledRoom('run'), directory])
  return { ...child, said: child.waitFor(/.+/).then(([line]) => line) }
}

test('two processes cannot own one run; when the first ends, or is killed, the next one can', async () => {
  const directory = temporaryDirectory()
  const first = holder(directory)
  expect(await first.said).toBe('held')
  await expect(Run.resume(directory, identity())).rejects.toMatchObject({
    name: 'RunError',
    message: expect.stringContaining(
      `${join(directory, 'lock')}: process ${first.process.pid} has been using this run since 20`,
    ),
  })
  expect((await Run.read(directory)).status).toBe('running')
  expect(await holder(directory).said).toContain(`process ${first.process.pid} has been using this run`)
  await first.kill()
  expect(existsSync(join(directory, 'lock'))).toBe(true)
  expect((await Run.read(directory)).status).toBe('crashed')
  const second = holder(directory)
  expect(await second.said).toBe('held')
  second.process.stdin.end()
  await second.ended
  expect(readdirSync(directory).filter(name => name.startsWith('lock'))).toEqual([])
  expect((await Run.read(directory)).status).toBe('stopped')
})

test('of many processes that find the lock of a dead one at once, one gets it', async () => {
  const directory = temporaryDirectory()
  const dead = holder(directory)
  await dead.said
  await dead.kill()
  const many = Array.from({ length: 6 }, () => holder(directory))
  const said = await Promise.all(many.map(one => one.said))
  expect(said.filter(word => word === 'held')).toHaveLength(1)
  for (const one of many) one.process.stdin.end()
  await Promise.all(many.map(({ ended }) => ended))
  expect(readdirSync(directory).filter(name => name.startsWith('lock'))).toEqual([])
})

test('one process cannot open a run twice either', async () => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity())
  await expect(Run.resume(directory, identity())).rejects.toThrow(`process ${process.pid} has been using this run`)
  await run.close('stopped')
})

const holderOf = (directory: string) => JSON.parse(readFileSync(join(directory, 'lock'), 'utf8'))
const changes: readonly [string, Record<string, unknown>][] = [
  // The number belongs to a process again, but not to the one that took the lock.
  ['whose number was given to another process', { start: '1' }],
  ['of before the machine was restarted', { boot: 'another' }],
  ['of a number that nobody has', { pid: 2 ** 22 - 3, start: '99' }],
]
test.each(changes)('a lock %s is nobody’s', async (_, change) => {
  const directory = temporaryDirectory()
  const run = await Run.create(directory, identity())
  writeFileSync(join(directory, 'lock'), JSON.stringify({ ...holderOf(directory), token: 'other', ...change }))
  const next = await Run.resume(directory, identity())
  expect(holderOf(directory)).toMatchObject({ pid: process.pid })
  // Whoever lost it does not take it from the next.
  await run.close('stopped')
  expect(holderOf(directory)).toMatchObject({ pid: process.pid })
  await next.close('stopped')
  expect(existsSync(join(directory, 'lock'))).toBe(false)
})

test('a lock of another machine is respected, and the message says how to remove it', async () => {
  const directory = temporaryDirectory()
  await (await Run.create(directory, identity())).close('stopped')
  const lock = join(directory, 'lock')
  const other = {
    token: 't',
    pid: 7,
    start: '1',
    boot: 'b',
    machine: 'deadbeef',
    host: 'node-7',
    since: '2026-01-01T00:00:00.000Z',
  }
  writeFileSync(lock, JSON.stringify(other))
  await expect(Run.resume(directory, identity())).rejects.toMatchObject({
    message: `${lock}: process 7 on the machine node-7 took this run at 2026-01-01T00:00:00.000Z`,
    remedy: `This machine cannot see whether that process still runs. If it does not, delete ${lock} and try again.`,
  })
  expect((await Run.read(directory)).status).toBe('running')
  for (const text of ['{"tok', '', 'null', '{}', '[]', '7', JSON.stringify({ ...other, pid: 'x' })]) {
    writeFileSync(lock, text)
    await expect(Run.resume(directory, identity()), text).rejects.toThrow(
      `${lock} is damaged; delete this file if no process uses it`,
    )
  }
})
