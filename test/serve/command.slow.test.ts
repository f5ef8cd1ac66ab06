import { beforeAll, expect, test, vi } from 'vitest'
import { startWhetstone } from '../support/child.js'
import { cli } from '../support/cli.js'
import { post, send } from '../support/serve.js'
import { widerDirectory } from '../support/tiny-model.js'

let model: string
beforeAll(async () => {
  model = await widerDirectory()
})

const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => startWhetstone(args, { env })

/** For what is refused before a port is opened. */
const serve = (...flags: string[]) => cli(['serve', '--model', model, '--port', '0', ...flags])
const misuse = (words: string) => ({ code: 2, stderr: expect.stringContaining(words) })

test('serve: answers, and on SIGTERM ends what is in flight before it goes', async () => {
  const {
    process: child,
    printed,
    ended,
    waitFor,
  } = start(['serve', '--model', model, '--port', '0', '--served-model-name', 'tiny'])
  const port = Number((await waitFor(/tiny at http:\/\/127\.0\.0\.1:(\d+)\/v1/))[1])
  expect((await send(port, '/health')).status).toBe(200)
  // Another address of the same machine, where a server that listens everywhere would answer.
  await expect(send(port, '/health', undefined, { host: '127.0.0.2' })).rejects.toThrow('ECONNREFUSED')
  const running = post(port, '/v1/completions', {
    model: 'tiny',
    prompt: [5, 6],
    max_tokens: 200,
    n: 30,
    ignore_eos: true,
  })
  await new Promise(resolve => setTimeout(resolve, 60))
  child.kill('SIGTERM')
  const { status, body } = await running
  expect(status).toBe(200)
  expect(body.choices.every((choice: { finish_reason: string }) => choice.finish_reason === 'length')).toBe(true)
  expect(await ended).toMatchObject({ code: 0 })
  expect(printed.stderr).toContain('requests in flight are finished first')
})

test('serve: a port in use is a misuse that says so', async () => {
  const first = start(['serve', '--model', model, '--port', '0'])
  const port = (await first.waitFor(/:(\d+)\/v1/))[1]!
  const second = start(['serve', '--model', model, '--port', port])
  expect(await second.ended).toMatchObject({ code: 2 })
  expect(second.printed.stderr).toContain(`--port: ${port} is in use`)
  first.process.kill('SIGINT')
  expect(await first.ended).toMatchObject({ code: 0 })
})

test('serve: a key that was given but is empty is a misuse, before anything is loaded', async () => {
  expect(await serve('--api-key=')).toMatchObject(misuse('--api-key: expected a key'))
  vi.stubEnv('WHETSTONE_API_KEY', '')
  expect(await serve()).toMatchObject(misuse('WHETSTONE_API_KEY: expected a key'))
  vi.unstubAllEnvs()
  expect(await serve('--allow-host', 'http://a.example')).toMatchObject(misuse('--allow-host: expected a host name'))
})

test.each([
  [['--control'], '--control needs a key'],
  [['--weights-root', '.'], '--weights-root needs --control'],
  [['--control', '--api-key', 'k', '--enable-lora'], '--enable-lora needs --weights-root'],
  [['--control', '--api-key', 'k', '--max-loras', '2'], '--max-loras needs --enable-lora'],
  [['--logprobs-mode', 'raw_logits'], '--logprobs-mode: expected raw_logprobs or processed_logprobs'],
])('serve %j, without a key or with half of its flags, is a misuse', async (flags, words) => {
  expect(await serve(...flags)).toMatchObject(misuse(words))
})

test('serve --control: a root of weights that is not there', async () => {
  const ran = await serve('--control', '--api-key', 'k', '--weights-root', `${model}/nowhere`)
  expect(ran.code).not.toBe(0)
  expect(ran.stderr).toContain('is not a directory')
})

test('serve --control: weights are replaced while it runs', async () => {
  const flags = ['--control', '--weights-root', model, '--enable-lora']
  const variables = { WHETSTONE_API_KEY: 'secret' }
  const { process: child, ended, waitFor } = start(['serve', '--model', model, '--port', '0', ...flags], variables)
  const port = Number((await waitFor(/:(\d+)\/v1/))[1])
  const headers = { authorization: 'Bearer secret' }
  const body = { method: 'reload_weights', kwargs: { weights_path: model } }
  expect((await send(port, '/collective_rpc', body)).status).toBe(401)
  const { status, text } = await send(port, '/collective_rpc', body, { headers })
  expect([status, text]).toEqual([200, '{"results":[null]}'])
  child.kill('SIGTERM')
  expect(await ended).toMatchObject({ code: 0 })
})

test('chat: answers lines, forgets on /new, ends on /quit', async () => {
  const {
    process: child,
    printed,
    ended,
  } = start(['chat', '--model', model, '--max-new-tokens', '5', '--temperature', '0'])
  child.stdin.write('Hello\n/new\nHello\n/quit\n')
  expect(await ended).toMatchObject({ code: 0 })
  // Two equal answers, and nothing else.
  const { stdout } = printed
  expect(stdout.length).toBeGreaterThan(2)
  expect(stdout.slice(0, stdout.length / 2)).toBe(stdout.slice(stdout.length / 2))
  expect(stdout.endsWith('\n')).toBe(true)
})
