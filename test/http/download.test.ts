import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { DownloadError, download } from '../../src/http/index.js'
import { temporaryDirectory } from '../support/files.js'

const body = randomBytes(300_000)
const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const servers: Server[] = []

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/file.zip`
}

function fetchTo(
  to: string,
  url: string,
  more: { connectTimeoutMs?: number; idleTimeoutMs?: number; signal?: AbortSignal } = {},
) {
  return download({ url, to, signal: new AbortController().signal, ...more })
}

/** Answers ranges properly, but sends at most `cut` bytes before it drops the connection. */
function cutting(cut: number, ranges: string[]): RequestListener {
  const etag = '"one"'
  return (request, response) => {
    const asked = request.headers.range
    ranges.push(asked ?? 'all')
    const from = asked && request.headers['if-range'] === etag ? Number(asked.match(/\d+/)?.[0]) : 0
    const rest = body.subarray(from)
    response.writeHead(from ? 206 : 200, {
      etag,
      'content-length': rest.length,
      ...(from && { 'content-range': `bytes ${from}-${body.length - 1}/${body.length}` }),
    })
    response.write(rest.subarray(0, cut), () =>
      rest.length > cut ? setTimeout(() => response.destroy(), 60) : response.end(),
    )
  }
}

test('a connection cut off again and again is taken up where it broke', async () => {
  const ranges: string[] = []
  const to = join(temporaryDirectory(), 'file.zip')
  await fetchTo(to, await serve(cutting(120_000, ranges)))
  expect(digest(readFileSync(to))).toBe(digest(body))
  // How much of the last bytes before a cut arrives is the system's affair; that what did arrive is not asked for again is ours.
  const starts = ranges.map(range => (range === 'all' ? 0 : Number(range.match(/^bytes=(\d+)-$/)?.[1])))
  expect(starts.length).toBeGreaterThanOrEqual(3)
  expect(starts.at(-1)).toBeGreaterThan(0)
  expect(starts.slice(1).every((start, index) => start >= starts[index]!)).toBe(true)
  expect(existsSync(`${to}.part`)).toBe(false)
  expect(existsSync(`${to}.part.json`)).toBe(false)
})

test('a later run continues what an earlier one began', async () => {
  const ranges: string[] = []
  const to = join(temporaryDirectory(), 'file.zip')
  const url = await serve(cutting(1e9, ranges))
  writeFileSync(`${to}.part`, body.subarray(0, 1000))
  writeFileSync(`${to}.part.json`, JSON.stringify({ url, validator: '"one"' }))
  await fetchTo(to, url)
  expect(ranges).toEqual(['bytes=1000-'])
  expect(digest(readFileSync(to))).toBe(digest(body))
})

test('a file that changed in between is fetched from its start', async () => {
  const to = join(temporaryDirectory(), 'file.zip')
  const newer = randomBytes(body.length)
  let requests = 0
  const url = await serve((request, response) => {
    // What If-Range is for: the first half of one file must never be joined to the second half of another.
    if (++requests === 1) return cutting(1000, [])(request, response)
    expect(request.headers['if-range']).toBe('"one"')
    response.writeHead(200, { etag: '"two"', 'content-length': newer.length }).end(newer)
  })
  await fetchTo(to, url)
  expect(digest(readFileSync(to))).toBe(digest(newer))
})

test('the beginning of another file is not continued', async () => {
  const to = join(temporaryDirectory(), 'file.zip')
  const ranges: string[] = []
  writeFileSync(`${to}.part`, 'bytes of something else')
  writeFileSync(`${to}.part.json`, JSON.stringify({ url: 'http://elsewhere/', validator: '"one"' }))
  await fetchTo(to, await serve(cutting(1e9, ranges)))
  expect(ranges).toEqual(['all'])
  expect(digest(readFileSync(to))).toBe(digest(body))
})

test('a server without ranges is asked for everything again', async () => {
  let requests = 0
  const to = join(temporaryDirectory(), 'file.zip')
  const url = await serve((_, response) => {
    response.writeHead(200, { 'content-length': body.length })
    if (++requests === 1) response.write(body.subarray(0, 1000), () => setTimeout(() => response.destroy(), 20))
    else response.end(body)
  })
  await fetchTo(to, url)
  expect(digest(readFileSync(to))).toBe(digest(body))
})

test('redirects are followed', async () => {
  const target = await serve((_, response) => response.end(body))
  const to = join(temporaryDirectory(), 'file.zip')
  await fetchTo(to, await serve((_, response) => response.writeHead(302, { location: target }).end()))
  expect(digest(readFileSync(to))).toBe(digest(body))
})

test('what is not there', async () => {
  const url = await serve((_, response) => response.writeHead(404).end())
  const to = join(temporaryDirectory(), 'file.zip')
  await expect(fetchTo(to, url)).rejects.toThrow(/answered 404/)
  expect(existsSync(`${to}.part`)).toBe(false)
})

test('a server that is not there, or does not answer, is given up at once', async () => {
  const to = join(temporaryDirectory(), 'file.zip')
  const started = Date.now()
  await expect(fetchTo(to, 'http://127.0.0.1:1/file.zip')).rejects.toThrow(/cannot be reached \(ECONNREFUSED\)/)
  await expect(fetchTo(to, 'http://whetstone.invalid/file.zip')).rejects.toThrow(DownloadError)
  await expect(fetchTo(to, await serve(() => {}), { idleTimeoutMs: 200 })).rejects.toThrow(/nothing received/)
  expect(Date.now() - started).toBeLessThan(5000)
})

test('an abort stops it', async () => {
  const stop = new AbortController()
  const url = await serve((_, response) => {
    response.writeHead(200, { 'content-length': 1000 })
    response.write('x', () => stop.abort(new Error('enough')))
  })
  await expect(fetchTo(join(temporaryDirectory(), 'x'), url, { signal: stop.signal })).rejects.toThrow('enough')
})
