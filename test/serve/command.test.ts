import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWhetstone } from '../support/child.js'
import { post, send } from '../support/serve.js'
import { tinyModel } from '../support/tiny-model.js'

let tiny: Awaited<ReturnType<typeof tinyModel>>
beforeAll(async () => {
  tiny = await tinyModel()
})
afterAll(() => tiny.remove())

const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => startWhetstone(args, { env })

test('serve: answers, and on SIGTERM ends what is in flight before it goes', async () => {
  const {
    process: child,
    printed,
    ended,
    waitFor,
  } = start(['serve', '--model', tiny.directory, '--port', '0', '--served-model-name', 'tiny'])
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
  expect(printed.stderr).toContain('requests in flight are answered first')
})

test('serve: a port in use is a misuse that says so', async () => {
  const first = start(['serve', '--model', tiny.directory, '--port', '0'])
  const port = (await first.waitFor(/:(\d+)\/v1/))[1]!
  const second = start(['serve', '--model', tiny.directory, '--port', port])
  expect(await second.ended).toMatchObject({ code: 2 })
  expect(second.printed.stderr).toContain(`--port: ${port} is in use`)
  first.process.kill('SIGINT')
  expect(await first.ended).toMatchObject({ code: 0 })
})

test('serve: a key that was given but is empty is a misuse, before anything is loaded', async () => {
  const empty = start(['serve', '--model', tiny.directory, '--port', '0', '--api-key='])
  expect(await empty.ended).toMatchObject({ code: 2 })
  expect(empty.printed.stderr).toContain('--api-key: expected a key')
  const variable = start(['serve', '--model', tiny.directory, '--port', '0'], { WHETSTONE_API_KEY: '' })
  expect(await variable.ended).toMatchObject({ code: 2 })
  expect(variable.printed.stderr).toContain('WHETSTONE_API_KEY: expected a key')
  const host = start(['serve', '--model', tiny.directory, '--port', '0', '--allow-host', 'http://a.example'])
  expect(await host.ended).toMatchObject({ code: 2 })
  expect(host.printed.stderr).toContain('--allow-host: expected a name')
})

test('serve --control: without a key, or with half of its flags, it is a misuse', async () => {
  const at = ['serve', '--model', tiny.directory, '--port', '0']
  const wrongs: [string[], string][] = [
    [['--control'], '--control needs a key'],
    [['--weights-root', tiny.directory], '--weights-root goes with --control'],
    [['--control', '--api-key', 'k', '--enable-lora'], '--enable-lora needs --weights-root'],
    [['--control', '--api-key', 'k', '--max-loras', '2'], '--max-loras goes with --enable-lora'],
    [['--logprobs-mode', 'raw_logits'], '--logprobs-mode: expected raw_logprobs or processed_logprobs'],
  ]
  const started = wrongs.map(([flags, words]) => ({ ...start([...at, ...flags]), words }))
  for (const { ended, printed, words } of started) {
    expect(await ended).toMatchObject({ code: 2 })
    expect(printed.stderr).toContain(words)
  }
  const root = start([...at, '--control', '--api-key', 'k', '--weights-root', `${tiny.directory}/nowhere`])
  expect((await root.ended).code).not.toBe(0)
  expect(root.printed.stderr).toContain('is not a directory')
})

test('serve --control: weights are replaced while it runs', async () => {
  const flags = ['--control', '--weights-root', tiny.directory, '--enable-lora']
  const variables = { WHETSTONE_API_KEY: 'secret' }
  const {
    process: child,
    ended,
    waitFor,
  } = start(['serve', '--model', tiny.directory, '--port', '0', ...flags], variables)
  const port = Number((await waitFor(/:(\d+)\/v1/))[1])
  const headers = { authorization: 'Bearer secret' }
  const body = { method: 'reload_weights', kwargs: { weights_path: tiny.directory } }
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
  } = start(['chat', '--model', tiny.directory, '--max-new-tokens', '5', '--temperature', '0'])
  child.stdin.write('Hello\n/new\nHello\n/quit\n')
  expect(await ended).toMatchObject({ code: 0 })
  const answers = printed.stdout
    .split('> ')
    .map(part => part.trim())
    .filter(Boolean)
  expect(answers).toHaveLength(2)
  expect(answers[0]).toBe(answers[1])
})
