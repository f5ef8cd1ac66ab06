import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fetchMedia, isPublicAddress } from '../../src/media/fetch-media.js'
import { MediaProcessor, readMediaConfig } from '../../src/media/index.js'

const folder = fileURLToPath(new URL('../fixtures/media', import.meta.url))
const png = readFileSync(join(folder, 'rgb.png'))

const answers: Record<string, RequestListener> = {
  '/a.png': (_, response) => response.setHeader('content-type', 'image/png').end(png),
  '/page': (_, response) => response.setHeader('content-type', 'text/html').end('<html>'),
  '/again': (_, response) => response.writeHead(302, { location: '/a.png' }).end(),
  '/loop': (_, response) => response.writeHead(302, { location: '/loop' }).end(),
  '/file': (_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  '/inside': (_, response) => response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end(),
  '/large': (_, response) => {
    response.setHeader('content-type', 'image/png')
    response.write(Buffer.alloc(3000))
    response.end()
  },
  '/slow': (_, response) => void response.setHeader('content-type', 'image/png').write('x'),
  '/gone': (_, response) => response.writeHead(404).end(),
}

let server: Server
let base = ''
beforeAll(async () => {
  server = createServer((request, response) => answers[request.url!]!(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const any = { urls: { addresses: 'any', timeoutSeconds: 5 }, maxBytes: 2500 } as const
const fetched = (path: string, options: Parameters<typeof fetchMedia>[1] = any) =>
  fetchMedia(new URL(path, base), options)

test('bytes come, also after a redirect', async () => {
  expect(Buffer.from(await fetched('/a.png')).equals(png)).toBe(true)
  expect(Buffer.from(await fetched('/again')).equals(png)).toBe(true)
})

test('a processor reads URLs where they are allowed', async () => {
  const config = await readMediaConfig(join(folder, 'qwen2_5_vl'), 'qwen2_5_vl')
  const found = await new MediaProcessor({ config, urls: any.urls }).prepare({ images: [`${base}/a.png`] })
  expect(found.kind).toBe('media')
})

describe('refusals', () => {
  test.each([
    ['/page', 'format', 'the type text/html'],
    ['/loop', 'refused', 'more than 5 times'],
    ['/file', 'refused', 'a redirect leads to file:'],
    ['/large', 'limit', 'it has 3000 bytes; the limit is 2500'],
    ['/gone', 'missing', 'answered 404'],
  ])('%s', async (path, reason, message) => {
    await expect(fetched(path)).rejects.toMatchObject({ reason, message: expect.stringContaining(message) })
  })

  test('URLs are refused until they are allowed', async () => {
    await expect(fetched('/a.png', { maxBytes: 100 })).rejects.toMatchObject({ reason: 'refused' })
  })

  test('a server that does not end', async () => {
    const urls = { addresses: 'any', timeoutSeconds: 0.2 } as const
    await expect(fetched('/slow', { urls, maxBytes: 100 })).rejects.toMatchObject({ reason: 'limit' })
  })

  test('an abort is not an outcome', async () => {
    const controller = new AbortController()
    const waiting = fetched('/slow', { ...any, signal: controller.signal })
    setTimeout(() => controller.abort(new Error('enough')), 50)
    await expect(waiting).rejects.toThrow('enough')
  })

  test('a user in the URL', async () => {
    const url = new URL('/a.png', base)
    url.username = 'me'
    await expect(fetchMedia(url, any)).rejects.toMatchObject({ reason: 'refused' })
  })
})

describe('addresses that are not public', () => {
  const open = { urls: { addresses: 'public', timeoutSeconds: 5 }, maxBytes: 2500 } as const

  test('in the URL, by name, and behind a redirect', async () => {
    await expect(fetched('/a.png', open)).rejects.toMatchObject({ reason: 'refused' })
    const named = new URL(base.replace('127.0.0.1', 'localhost'))
    await expect(fetchMedia(named, open)).rejects.toMatchObject({
      reason: 'refused',
      message: expect.stringMatching(/address (127\.0\.0\.1|::1), which is not of the public internet/),
    })
  })

  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:10.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::a00:1',
    '2002:a00:1::',
    'not an address',
  ])('%s', address => {
    expect(isPublicAddress(address)).toBe(false)
  })

  test.each(['1.1.1.1', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])('%s is public', address => {
    expect(isPublicAddress(address)).toBe(true)
  })

  test.each(['http://2130706433/', 'http://0x7f.1/', 'http://[::ffff:127.0.0.1]/'])('%s is this machine', async url => {
    await expect(fetchMedia(new URL(url), open)).rejects.toMatchObject({ reason: 'refused' })
  })
})
