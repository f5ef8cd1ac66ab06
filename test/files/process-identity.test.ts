import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isProcessAlive, processStart } from '../../src/files/index.js'

test('a process is alive with its own start, not with that of another, and not when it has ended', async () => {
  const start = processStart(process.pid)!
  expect(isProcessAlive(process.pid, start)).toBe(true)
  expect(isProcessAlive(process.pid, String(Number(start) - 1))).toBe(false)
  const child = spawn('sleep', ['60'])
  const childStart = processStart(child.pid!)!
  expect(isProcessAlive(child.pid!, childStart)).toBe(true)
  child.kill('SIGKILL')
  await once(child, 'close')
  expect(isProcessAlive(child.pid!, childStart)).toBe(false)
})

test('one that has ended and that nobody has asked about is not alive', async () => {
  // The shell starts a process and becomes another program, which will never ask about it.
  const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'])
  const [said] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(String(said))
  const start = processStart(pid)!
  expect(isProcessAlive(pid, start)).toBe(true)
  for (let waited = 0; isProcessAlive(pid, start) && waited < 100; waited++) await sleep(50)
  // It is still there, with its number.
  expect(() => process.kill(pid, 0)).not.toThrow()
  expect(isProcessAlive(pid, start)).toBe(false)
  parent.kill('SIGKILL')
})
