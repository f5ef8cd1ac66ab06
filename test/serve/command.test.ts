import { type ChildProcess, spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Binary, buildBinary } from '../support/binary.js'
import { post, send } from '../support/serve.js'
import { tinyModel } from '../support/tiny-model.js'

let binary: Binary
let tiny: Awaited<ReturnType<typeof tinyModel>>
const children: ChildProcess[] = []
beforeAll(async () => {
  binary = buildBinary()
  tiny = await tinyModel()
})
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  binary.remove()
  tiny.remove()
})

function start(args: readonly string[], variables: Readonly<Record<string, string>> = {}) {
  const script = join(dirname(binary.folder), 'install/whetstone.mjs')
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, OMP_NUM_THREADS: '1', ...variables },
  })
  children.push(child)
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', text => (said.out += text))
  child.stderr.setEncoding('utf8').on('data', text => (said.err += text))
  const ended = new Promise<number | null>(resolve => child.on('close', resolve))
  const waitFor = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(said.err)
      if (match) return match
      if (child.exitCode !== null) throw new Error(`it ended: ${said.err}`)
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }
  return { child, said, ended, waitFor }
}

test('serve: answers, and on SIGTERM ends what is in flight before it goes', async () => {
  const { child, said, ended, waitFor } = start([
    'serve',
    '--model',
    tiny.directory,
    '--port',
    '0',
    '--served-model-name',
    'tiny',
  ])
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
  expect(await ended).toBe(0)
  expect(said.err).toContain('requests in flight are answered first')
})

test('serve: a port in use is a misuse that says so', async () => {
  const first = start(['serve', '--model', tiny.directory, '--port', '0'])
  const port = (await first.waitFor(/:(\d+)\/v1/))[1]!
  const second = start(['serve', '--model', tiny.directory, '--port', port])
  expect(await second.ended).toBe(2)
  expect(second.said.err).toContain(`--port: ${port} is in use`)
  first.child.kill('SIGINT')
  expect(await first.ended).toBe(0)
})

test('serve: a key that was given but is empty is a misuse, before anything is loaded', async () => {
  const empty = start(['serve', '--model', tiny.directory, '--port', '0', '--api-key='])
  expect(await empty.ended).toBe(2)
  expect(empty.said.err).toContain('--api-key: expected a key')
  const variable = start(['serve', '--model', tiny.directory, '--port', '0'], { WHETSTONE_API_KEY: '' })
  expect(await variable.ended).toBe(2)
  expect(variable.said.err).toContain('WHETSTONE_API_KEY: expected a key')
  const host = start(['serve', '--model', tiny.directory, '--port', '0', '--allow-host', 'http://a.example'])
  expect(await host.ended).toBe(2)
  expect(host.said.err).toContain('--allow-host: expected a name')
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
  for (const { ended, said, words } of started) {
    expect(await ended).toBe(2)
    expect(said.err).toContain(words)
  }
  const root = start([...at, '--control', '--api-key', 'k', '--weights-root', `${tiny.directory}/nowhere`])
  expect(await root.ended).not.toBe(0)
  expect(root.said.err).toContain('is not a directory')
})

test('serve --control: weights are replaced while it runs', async () => {
  const flags = ['--control', '--weights-root', tiny.directory, '--enable-lora']
  const variables = { WHETSTONE_API_KEY: 'secret' }
  const { child, ended, waitFor } = start(['serve', '--model', tiny.directory, '--port', '0', ...flags], variables)
  const port = Number((await waitFor(/:(\d+)\/v1/))[1])
  const headers = { authorization: 'Bearer secret' }
  const body = { method: 'reload_weights', kwargs: { weights_path: tiny.directory } }
  expect((await send(port, '/collective_rpc', body)).status).toBe(401)
  const { status, text } = await send(port, '/collective_rpc', body, { headers })
  expect([status, text]).toEqual([200, '{"results":[null]}'])
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
})

test('chat: answers lines, forgets on /new, ends on /quit', async () => {
  const { child, said, ended } = start([
    'chat',
    '--model',
    tiny.directory,
    '--max-new-tokens',
    '5',
    '--temperature',
    '0',
  ])
  child.stdin!.write('Hello\n/new\nHello\n/quit\n')
  expect(await ended).toBe(0)
  const answers = said.out
    .split('> ')
    .map(part => part.trim())
    .filter(Boolean)
  expect(answers).toHaveLength(2)
  expect(answers[0]).toBe(answers[1])
})
