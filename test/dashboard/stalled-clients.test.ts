/** Clients that ask and do not read: they cost the server a bounded amount of memory, and others nothing. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunsAnswer } from '../../src/dashboard/api.js'
import { RunCatalog } from '../../src/dashboard/catalog.js'
import { LiveEvents } from '../../src/dashboard/live.js'
import { SampleServices } from '../../src/dashboard/samples/service.js'
import { Run } from '../../src/run/index.js'
import { AskedDashboard } from '../support/dashboard.js'
import { temporaryDirectory } from '../support/files.js'
import { identity } from '../support/run.js'

const runs = temporaryDirectory()
let asked: AskedDashboard
const stallMs = 500
const names = Array.from({ length: 20 }, (_, n) => `reward/metric/${n}`)

beforeAll(async () => {
  const run = await Run.create(
    join(runs, 'one'),
    identity({ algorithm: 'grpo', iterations: 20_000 }, { command: 'rl' }),
    { loggers: [] },
  )
  for (let step = 1; step <= 20_000; step++)
    run.metrics(step, Object.fromEntries(names.map((name, n) => [name, Math.sin(step * (n + 1))])))
  await run.close('finished')
  asked = await AskedDashboard.over(runs, { stallMs })
})
afterAll(() => asked.close())

/** A connection that sends a request and reads nothing. */
function deaf(port: number, path: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  const headers = `Host: 127.0.0.1:${port}\r\nAuthorization: ${asked?.token.authorization}\r\n`
  socket.write(`GET ${path} HTTP/1.1\r\n${headers}\r\n`)
  return socket
}

test('live events of a page that does not read are not kept for it, and the page is closed', async () => {
  const live = new LiveEvents(new RunCatalog(runs), new SampleServices(), stallMs)
  const responses: ServerResponse[] = []
  const server = createServer((_, response) => {
    responses.push(response)
    live.open(response, 'one')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stalled = deaf(port, '/api/events')
  await expect.poll(() => responses.length).toBe(1)
  let read = ''
  const reading = connect(port, '127.0.0.1')
  reading.setEncoding('utf8').on('data', text => {
    read += text
  })
  reading.write('GET /api/events HTTP/1.1\r\nHost: a\r\n\r\n')
  await expect.poll(() => responses.length).toBe(2)
  // Far more than the buffers of both sides and of the system hold.
  let most = 0
  for (let n = 0; n < 400; n++) {
    for (let step = 0; step < 500; step++) live.send({ kind: 'metrics', run: 'one', step: 500 * n + step })
    most = Math.max(most, responses[0]!.writableLength)
    await new Promise(resolve => setImmediate(resolve))
  }
  expect(most).toBeLessThan(1 << 20)
  const done = (): boolean => {
    live.send({ kind: 'metrics', run: 'one', step: -1 })
    return responses[0]!.destroyed
  }
  await expect.poll(done, { timeout: 10 * stallMs }).toBe(true)
  expect(responses[1]!.destroyed).toBe(false)
  await expect.poll(() => read.includes('"step":-1')).toBe(true)
  await live.close()
  for (const socket of [stalled, reading]) socket.destroy()
  server.close()
})

test('an answer that is not read is dropped after a while; others are answered meanwhile', async () => {
  const { port } = asked.dashboard
  const big = `/api/runs/one/curves?points=20000&metrics=${names.join(',')}`
  const size = (await asked.ask(big, { headers: asked.token })).text.length
  expect(size).toBeGreaterThan(8_000_000)
  const stalled = Array.from({ length: 4 }, () => deaf(port, big))
  for (const socket of stalled) await once(socket, 'connect')
  // Others are answered meanwhile, for longer than the server waits for those that do not read.
  for (let n = 0; n < 12; n++) {
    expect((await asked.get<RunsAnswer>('/api/runs')).runs).toHaveLength(1)
    await new Promise(resolve => setTimeout(resolve, stallMs / 2))
  }
  // A client that reads again finds what the system had for it: the server has let go of the rest.
  for (const socket of stalled) {
    socket.resume()
    await once(socket, 'close')
    expect(socket.bytesRead).toBeGreaterThan(0)
    expect(socket.bytesRead).toBeLessThan(size)
  }
})
