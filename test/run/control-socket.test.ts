import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { askRun } from '../../src/run/index.js'
import { compiledRoom } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'

test('a run in a worker thread listens as well, for its user alone', async () => {
  const directory = temporaryDirectory()
  const script = `import('node:worker_threads').then(async ({ parentPort, workerData }) => {
    const { ControlSocket } = await import(workerData.room)
    const socket = await ControlSocket.listen(workerData.directory, async (request, send) => send({ heard: request }))
    parentPort.once('message', () => socket.close())
    parentPort.postMessage('listening')
  })`
  const worker = new Worker(script, { eval: true, workerData: { room: compiledRoom('run'), directory } })
  await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  expect(statSync(join(directory, 'control.sock')).mode & 0o777).toBe(0o600)
  for await (const line of askRun(directory, { act: 'pause' })) expect(line).toEqual({ heard: { act: 'pause' } })
  const ended = new Promise(resolve => worker.once('exit', resolve))
  worker.postMessage('close')
  expect(await ended).toBe(0)
})
