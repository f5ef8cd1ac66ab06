/** Long rollouts: no clock but ours ends an exchange, neither before the answer begins nor within it. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { parseServerUrl } from '../../../src/http/index.js'
import { EngineClient } from '../../../src/rollout/remote/engine-client.js'
import { atEnd } from '../../support/at-end.js'

afterEach(() => {
  vi.useRealTimers()
})

/** A server whose answers a test writes by hand. */
async function byHand(): Promise<{ server: EngineClient; asked: Promise<ServerResponse> }> {
  let arrived: (response: ServerResponse) => void = () => {}
  const asked = new Promise<ServerResponse>(resolve => {
    arrived = resolve
  })
  const http = createServer((_, response) => arrived(response))
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  const address = parseServerUrl(`http://127.0.0.1:${(http.address() as AddressInfo).port}`)!
  const server = new EngineClient({ address, apiKey: undefined, maxInFlight: 4, controlTimeoutMs: 1000 })
  atEnd(async () => {
    await server.close()
    http.closeAllConnections()
    http.close()
  })
  return { server, asked }
}

const minute = 60_000
const tell = (response: ServerResponse, text: string): Promise<void> =>
  new Promise(resolve => response.write(text, () => resolve()))

test('an answer that begins after ten minutes, and ends ten later', async () => {
  const { server, asked } = await byHand()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { reply } = server.exchange({ method: 'POST', path: '/', body: '{}', timeoutMs: 30 * minute })
  const response = await asked
  await vi.advanceTimersByTimeAsync(10 * minute)
  await tell(response, 'late ')
  await vi.advanceTimersByTimeAsync(10 * minute)
  response.end('and whole')
  expect(await reply).toMatchObject({ status: 200, text: 'late and whole' })
})

test('one that never comes ends at our deadline', async () => {
  const { server, asked } = await byHand()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { reply } = server.exchange({ method: 'POST', path: '/', body: '{}', timeoutMs: 30 * minute })
  const ended = expect(reply).rejects.toMatchObject({ kind: 'timeout', message: expect.stringContaining('1800 s') })
  await asked
  await vi.advanceTimersByTimeAsync(30 * minute + 1)
  await ended
})
