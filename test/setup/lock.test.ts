import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { machineMark, processStart } from '../../src/files/index.js'
import { withLock } from '../../src/setup/lock.js'
import { runChild } from '../support/child.js'
import { compiled } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'

const signal = new AbortController().signal
const nobody = {
  token: 'dead',
  pid: 4_194_303,
  start: '1',
  boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
  machine: machineMark,
  host: hostname(),
  since: '2026-01-01T00:00:00.000Z',
}

function take<T>(path: string, work: () => Promise<T>, onWait = () => {}) {
  return withLock(path, { signal, onWait, pollMs: 5, timeoutMs: 200 }, work)
}

describe('one process', () => {
  test('the lock names its holder and goes with it, also after a failure', async () => {
    const path = join(temporaryDirectory(), 'lock')
    await take(path, async () => {
      expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
        pid: process.pid,
        start: processStart(process.pid),
      })
    })
    await expect(take(path, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    expect(existsSync(path)).toBe(false)
  })

  test('a dead holder is no holder; nor is a later process with its number', async () => {
    const folder = temporaryDirectory()
    const path = join(folder, 'lock')
    for (const holder of [nobody, { ...nobody, pid: process.pid }]) {
      writeFileSync(path, JSON.stringify(holder))
      expect(await take(path, async () => 'mine')).toBe('mine')
    }
    expect(readdirSync(folder)).toEqual([])
  })

  test('a living holder, and one on another machine, are waited for; in the end with a word', async () => {
    const path = join(temporaryDirectory(), 'lock')
    const living = { ...nobody, pid: process.pid, start: processStart(process.pid) }
    for (const holder of [living, { ...nobody, machine: 'deadbeef', host: 'elsewhere' }]) {
      writeFileSync(path, JSON.stringify(holder))
      let waits = 0
      await expect(
        take(
          path,
          async () => 'mine',
          () => void waits++,
        ),
      ).rejects.toThrow(/Another setup \(process \d+ on/)
      expect(waits).toBe(1)
    }
  })
})

describe('several processes', () => {
  test('never two at once, even when all find the same dead lock', async () => {
    const folder = temporaryDirectory()
    const path = join(folder, 'lock')
    writeFileSync(path, JSON.stringify(nobody))
    const log = join(folder, 'log')
    const script = `
      import { appendFileSync } from 'node:fs'
      import { setTimeout } from 'node:timers/promises'
      import { withLock } from ${JSON.stringify(join(compiled(), 'dist/setup/lock.js'))}
      for (let turn = 0; turn < 5; turn++)
        await withLock(${JSON.stringify(path)}, { signal: new AbortController().signal, onWait() {}, pollMs: 1 }, async () => {
          appendFileSync(${JSON.stringify(log)}, 'in ')
          await setTimeout(5)
          appendFileSync(${JSON.stringify(log)}, 'out ')
        })`
    const flags = ['--input-type=module', '--eval']
    const ended = await Promise.all(Array.from({ length: 4 }, () => runChild(script, [], { flags })))
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0])
    expect(readFileSync(log, 'utf8')).toBe('in out '.repeat(20))
    expect(readdirSync(folder)).toEqual(['log'])
  })
})
