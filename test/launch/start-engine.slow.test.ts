import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { LaunchError, type StartEngineOptions, type StartedEngine, startEngine } from '../../src/launch/index.js'
import { runWhetstone, startWhetstone } from '../support/child.js'
import { temporaryDirectory } from '../support/files.js'

const server = fileURLToPath(new URL('fake-server.mjs', import.meta.url))
const command = [process.execPath, server]
const folder = temporaryDirectory()
const model = join(folder, 'tiny')
const started: StartedEngine[] = []

beforeAll(() => {
  mkdirSync(model)
  writeFileSync(join(model, 'config.json'), '{}')
})
afterEach(async () => {
  for (const engine of started.splice(0)) await engine.stop()
})

async function start({ fake = '', ...options }: Partial<StartEngineOptions> & { fake?: string } = {}) {
  const logFile = join(folder, `${Math.random()}.log`)
  const env = { FAKE: fake, ...options.env }
  const engine = await startEngine({ type: 'vllm', model, command, logFile, ...options, env })
  started.push(engine)
  return engine
}

const isAlive = (pid: number): boolean => {
  try {
    // A process that has ended and that nobody has asked about is none.
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
const logged = (logFile: string, label: string): string =>
  new RegExp(`^${label} (.*)$`, 'm').exec(readFileSync(logFile, 'utf8'))?.[1] ?? 'null'
const worker = (logFile: string): number => Number(logged(logFile, 'worker'))

describe('startEngine', () => {
  test('waits until the server is ready, says how far it is, and ends all of it', async () => {
    const seen: string[] = []
    const engine = await start({ onProgress: ({ lastLine }) => seen.push(lastLine) })
    expect((await fetch(`${engine.url}/health`)).status).toBe(200)
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.at(-1)).toMatch(/^(worker|environment|arguments)/)
    const pids = [engine.pid, worker(engine.logFile)]
    expect(pids.map(isAlive)).toEqual([true, true])
    await engine.stop()
    expect(pids.map(isAlive)).toEqual([false, false])
    expect(await engine.exited).toEqual({ code: 0, signal: null })
    await engine.stop()
  })

  test("gives each server what a trainer needs of it, with the caller's flags last", async () => {
    const vllm = await start({ loraRank: 4, maxLength: 512, flags: ['--seed', '3'], env: { OWN: 'yes' } })
    const args: string[] = JSON.parse(logged(vllm.logFile, 'arguments'))
    expect(args.slice(0, 4)).toEqual(['serve', model, '--served-model-name', 'tiny'])
    expect(args.join(' ')).toContain('--logprobs-mode processed_logprobs')
    expect(args.join(' ')).toContain('--max-lora-rank 8')
    expect(args.slice(-2)).toEqual(['--seed', '3'])
    const env = JSON.parse(logged(vllm.logFile, 'environment'))
    expect(env).toMatchObject({ VLLM_SERVER_DEV_MODE: '1', HF_HUB_OFFLINE: '1', OWN: 'yes' })
    const sglang = await start({ type: 'sglang', device: 'cpu', memoryShare: 0.5 })
    const flags = JSON.parse(logged(sglang.logFile, 'arguments')).join(' ')
    expect(flags).toContain(`--model-path ${model} --served-model-name tiny --host 127.0.0.1 --port`)
    expect(flags).toContain('--mem-fraction-static 0.5')
    expect(flags).toContain('--device cpu')
  })

  test('a key stands in no argument', async () => {
    const vllm = await start({ apiKey: 'sesame' })
    expect(logged(vllm.logFile, 'arguments')).not.toContain('sesame')
    expect(JSON.parse(logged(vllm.logFile, 'environment')).VLLM_API_KEY).toBe('******')
    const sglang = await start({ type: 'sglang', apiKey: 'sesame' })
    const args: string[] = JSON.parse(logged(sglang.logFile, 'arguments'))
    expect(args.join(' ')).not.toContain('sesame')
    const config = args[args.indexOf('--config') + 1]!
    expect(readFileSync(config, 'utf8')).toBe('api-key: "sesame"\n')
    await sglang.stop()
    expect(() => readFileSync(config)).toThrow('ENOENT')
  })

  test('one that dies before it is ready is an error with the last lines of its log', async () => {
    const error: Error = await start({ fake: 'dies' }).then(
      () => expect.fail('it started'),
      found => found,
    )
    expect(error).toBeInstanceOf(LaunchError)
    expect(error.message).toMatch(/^vLLM ended \(exit code 3\) before it was ready; the last lines of .*\.log:\n/)
    expect(error.message).toMatch(/\n {2}line 99\n {2}RuntimeError: no kernel image$/)
    expect(error.message.split('\n')).toHaveLength(31)
  })

  test('a server that prints its own key: not shown, and not left in its log', async () => {
    const logFile = join(folder, 'telling.log')
    const { stop } = await start({ fake: 'tells', apiKey: 'open-sesame', logFile })
    await stop()
    const log = readFileSync(logFile, 'utf8')
    expect(log).toContain("'api_key': '***********'")
    expect(log).not.toContain('open-sesame')
  })

  test('one that does not know a flag is another version, and said to be', async () => {
    await expect(start({ fake: 'old' })).rejects.toMatchObject({
      message: expect.stringContaining('unrecognized arguments: --enable-scale-out'),
      remedy: expect.stringContaining('docs/vllm.md'),
    })
  })

  test('one that does not become ready in time is ended', async () => {
    const logFile = join(folder, 'late.log')
    await expect(start({ fake: 'never', readyTimeoutMs: 1500, logFile })).rejects.toThrow(
      /vLLM was not ready after \d s; the last lines/,
    )
    expect(isAlive(worker(logFile))).toBe(false)
  })

  test('a signal ends the start, and what was started', async () => {
    const stop = new AbortController()
    const logFile = join(folder, 'stopped.log')
    const onProgress = ({ lastLine }: { lastLine: string }) =>
      lastLine.startsWith('worker') && stop.abort(new Error('enough'))
    await expect(start({ fake: 'never', logFile, signal: stop.signal, onProgress })).rejects.toThrow('enough')
    expect(isAlive(worker(logFile))).toBe(false)
    await expect(start({ signal: stop.signal })).rejects.toThrow('enough')
  })

  test('a port in use, a program that is not there, a directory without a model', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise(done => other.once('listening', done))
    const { port } = other.address() as { port: number }
    await expect(start({ port })).rejects.toThrow(`port ${port} of 127.0.0.1 is in use`)
    other.close()
    await expect(start({ command: ['no-such-program'] })).rejects.toMatchObject({
      message: 'vLLM: no-such-program is not on the PATH',
      remedy: expect.stringContaining('pip install vllm'),
    })
    const named = startEngine({ type: 'sglang', model, env: { WHETSTONE_SGLANG_PYTHON: '/no/python' } })
    await expect(named).rejects.toThrow('SGLang: /no/python (WHETSTONE_SGLANG_PYTHON) is not a program that can be run')
    const nowhere = startEngine({ type: 'vllm', model, env: { PATH: folder } })
    await expect(nowhere).rejects.toThrow('vLLM: vllm is not on the PATH')
    await expect(start({ model: folder })).rejects.toThrow(`${folder}: not a model directory`)
    await expect(start({ logFile: join(folder, 'no/such/log') })).rejects.toThrow('cannot be written (ENOENT)')
  })

  test('a server that is killed leaves no worker behind', async () => {
    const engine = await start()
    process.kill(engine.pid, 'SIGKILL')
    expect(await engine.exited).toEqual({ code: null, signal: 'SIGKILL' })
    expect(isAlive(worker(engine.logFile))).toBe(false)
  })
})

describe('whetstone engine start', () => {
  const fake = { FAKE: '', WHETSTONE_VLLM: join(folder, 'vllm') }
  beforeAll(() => {
    writeFileSync(fake.WHETSTONE_VLLM, `#!${process.execPath}\nimport(${JSON.stringify(server)})\n`, { mode: 0o755 })
    Object.assign(process.env, fake)
  })
  afterAll(() => {
    for (const name of Object.keys(fake)) delete process.env[name]
  })
  const args = (log: string) => ['engine', 'start', '--type', 'vllm', '--model', model, '--log', log]

  test('says where it is and how a run uses it; Ctrl-C ends it', async () => {
    const log = join(folder, 'cli.log')
    const child = startWhetstone([...args(log), '--max-length', '64', '--', '--seed', '5'])
    await child.waitFor(/urls:/)
    const { code, stderr } = await child.kill('SIGINT')
    expect(code).toBe(130)
    expect(stderr).toMatch(/tiny at http:\/\/127\.0\.0\.1:\d+, log in /)
    expect(stderr).toMatch(/generator:\n {4}type: vllm\n {4}urls: \[http:\/\/127\.0\.0\.1:\d+\]/)
    expect(logged(log, 'arguments')).toContain('"--max-model-len","64","--seed","5"]')
    expect(isAlive(worker(log))).toBe(false)
  })

  test('killed without warning, it still leaves no server and no worker behind', async () => {
    const log = join(folder, 'killed.log')
    const child = startWhetstone(args(log))
    await child.waitFor(/urls:/)
    await child.kill()
    await expect.poll(() => isAlive(worker(log)), { timeout: 15_000 }).toBe(false)
    const listens = logged(log, 'arguments').match(/"--port","(\d+)"/)![1]
    await expect(fetch(`http://127.0.0.1:${listens}/health`)).rejects.toThrow()
  })

  test('a server that does not start is shown with its log', async () => {
    process.env.FAKE = 'dies'
    const { code, stderr } = await runWhetstone(args(join(folder, 'dies.log')))
    process.env.FAKE = ''
    expect(code).toBe(1)
    expect(stderr).toContain('whetstone: vLLM ended (exit code 3) before it was ready')
    expect(stderr).toContain('  RuntimeError: no kernel image')
    expect(await runWhetstone(['engine', 'begin'])).toMatchObject({ code: 2 })
    expect(await runWhetstone(['engine', 'start', '--type', 'vlm', '--model', model])).toMatchObject({ code: 2 })
  })
})
