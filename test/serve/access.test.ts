import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ModelServer, type ServeOptions } from '../../src/serve/index.js'
import { ScriptedGenerator } from '../support/doubles/scripted-generator.js'
import { send } from '../support/serve.js'

const servers: ModelServer[] = []
const serve = async (options: Partial<ServeOptions> = {}): Promise<number> => {
  const engine = new ScriptedGenerator(() => [1, 2, 3])
  const server = await ModelServer.start({ engine, tokenizer: undefined, name: 'org/tiny', port: 0, ...options })
  servers.push(server)
  return server.port
}
let port: number
beforeAll(async () => {
  port = await serve()
})
afterAll(async () => {
  for (const server of servers) await server.close({ graceMs: 0 })
})

const health = async (at: number, headers: Record<string, string>, path = '/health') =>
  (await send(at, path, undefined, { headers })).status
const body = { prompt: [5, 6], max_tokens: 1 }

describe('names of the server', () => {
  test.each([
    ['localhost', 200],
    ['LOCALHOST:8000', 200],
    ['127.0.0.1:1', 200],
    ['[::1]:8000', 200],
    ['192.168.1.7', 200],
    ['models.localhost', 200],
    ['attacker.example', 403],
    ['attacker.example:8000', 403],
    ['localhost.attacker.example', 403],
    ['127.0.0.1.attacker.example', 403],
  ])('Host: %s is answered with %d', async (host, status) => {
    expect(await health(port, { host })).toBe(status)
  })

  test('a name made to point here gets nothing from any path, and is told why', async () => {
    const headers = { host: 'attacker.example' }
    const { status, text } = await send(port, '/v1/completions', body, { headers })
    expect(status).toBe(403)
    expect(JSON.parse(text).error).toMatchObject({ type: 'PermissionDeniedError', code: 403 })
    expect(text).toContain('--allow-host')
    expect(await health(port, headers, '/metrics')).toBe(403)
  })

  test('names of a proxy are allowed by hand', async () => {
    const behind = await serve({ allowHosts: ['models.example'] })
    expect(await health(behind, { host: 'Models.Example' })).toBe(200)
    expect(await health(behind, { host: 'models.example.' })).toBe(200)
    expect(await health(behind, { host: 'other.example' })).toBe(403)
  })

  test('in absolute form the target says the name', async () => {
    const ask = (target: string): Promise<string> =>
      new Promise(resolve => {
        const socket = connect(port, '127.0.0.1', () =>
          socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`),
        )
        let text = ''
        socket.on('data', part => (text += part))
        socket.on('close', () => resolve(text))
      })
    expect(await ask(`http://127.0.0.1:${port}/v1/models`)).toMatch(/^HTTP\/1.1 200[\s\S]*"org\/tiny"/)
    expect(await ask('http://localhost/health?x=1')).toMatch(/^HTTP\/1.1 200/)
    expect(await ask('http://attacker.example/health')).toMatch(/^HTTP\/1.1 403/)
    expect(await ask('http://localhost')).toMatch(/^HTTP\/1.1 404/)
  })
})

describe('origins', () => {
  test('pages of other origins are refused, those of the server itself are not', async () => {
    for (const origin of ['https://attacker.example', 'null', 'http://localhost:3000'])
      expect((await send(port, '/v1/completions', body, { headers: { origin } })).status).toBe(403)
    const host = `127.0.0.1:${port}`
    expect(await health(port, { host, origin: `http://${host}` })).toBe(200)
  })

  test('an allowed origin is told so, also before it asks', async () => {
    const origin = 'https://chat.example'
    const at = await serve({ allowOrigins: [`${origin}/`] })
    const answer = await send(at, '/v1/completions', body, { headers: { origin } })
    expect(answer.status).toBe(200)
    expect(answer.headers['access-control-allow-origin']).toBe(origin)
    const preflight = await send(at, '/v1/completions', undefined, { method: 'OPTIONS', headers: { origin } })
    expect(preflight.status).toBe(204)
    expect(preflight.headers['access-control-allow-headers']).toContain('authorization')
    expect(await health(at, { origin: 'https://other.example' })).toBe(403)
    expect(await health(await serve({ allowOrigins: ['*'] }), { origin: 'https://other.example' })).toBe(200)
  })
})

describe('keys', () => {
  test('the scheme is read in any case', async () => {
    const at = await serve({ apiKey: 'secret' })
    for (const [authorization, status] of [
      ['Bearer secret', 200],
      ['bearer secret', 200],
      ['BEARER  secret', 200],
      ['Bearer secre', 401],
      ['Basic secret', 401],
      ['secret', 401],
      ['Bearer ', 401],
    ] as const)
      expect(await health(at, { authorization }, '/v1/models'), authorization).toBe(status)
  })

  test('an empty key is not a key', async () => {
    for (const apiKey of ['', ' ', 'a b']) await expect(serve({ apiKey })).rejects.toThrow('API key')
  })
})

test('a model by its name, slash or not', async () => {
  for (const path of ['/v1/models/org/tiny', '/v1/models/org%2Ftiny']) {
    const { status, text } = await send(port, path)
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({ id: 'org/tiny', object: 'model', max_model_len: 256 })
  }
  const other = await send(port, '/v1/models/other')
  expect(other.status).toBe(404)
  expect(JSON.parse(other.text).error).toMatchObject({ type: 'NotFoundError', param: 'model' })
  expect((await send(port, '/v1/models/%')).status).toBe(404)
  expect((await send(port, '/v1/models/other', {})).status).toBe(405)
})
