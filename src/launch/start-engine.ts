import { mkdtemp, open, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { InputError } from '../errors/index.js'
import { LaunchError } from './errors.js'
import { type Command, findCommand, pathWith, programs } from './find-command.js'
import { type EngineSettings, type EngineType, engineInvocation, readyPath } from './invocation.js'
import { hideInLog, lastLines } from './log-tail.js'
import { removeScratch, type ServerExit, type ServerProcess, startProcess } from './server-process.js'

export interface StartEngineOptions extends Partial<Omit<EngineSettings, 'type' | 'model'>> {
  type: EngineType
  /** A Hugging Face model directory. */
  model: string
  /** The model's name in requests. Default: the directory's name. */
  name?: string
  /** Default 127.0.0.1: every client that reaches the server can change its weights. */
  host?: string
  /** Default: any free port. */
  port?: number
  /**
   * The program and its first arguments. Default: `vllm` or `python3 -m sglang.launch_server` of the PATH, or what
   * `WHETSTONE_VLLM` or `WHETSTONE_SGLANG_PYTHON` names.
   */
  command?: readonly string[]
  /** Requests must send it as a bearer token. Other users of the machine cannot see it. */
  apiKey?: string
  /** Further variables of the server's environment. */
  env?: Readonly<Record<string, string>>
  /** How long the start may take. Default 10 minutes. */
  readyTimeoutMs?: number
  /** Gets what the server prints. Default: a temporary file. */
  logFile?: string
  onProgress?: (progress: EngineProgress) => void
  /** Stops the start and the server. */
  signal?: AbortSignal
}

interface EngineProgress {
  readonly seconds: number
  /** The last line that the server printed. */
  readonly lastLine: string
}

export interface StartedEngine {
  readonly type: EngineType
  readonly url: string
  /** The model's name in requests. */
  readonly model: string
  readonly pid: number
  readonly logFile: string
  /** Resolves when the server has ended. */
  readonly exited: Promise<ServerExit>
  /** Asks the server to end, and kills it after 20 seconds. */
  stop(): Promise<void>
}

const pollMs = 250

/**
 * Starts a server that is installed on this machine with the options that a trainer needs, and waits until it takes requests. The server
 * ends with this process, also when this process crashes.
 *
 * @example
 * async function withServer(model: string): Promise<void> {
 *   const engine = await startEngine({ type: 'vllm', model, maxLength: 2048 })
 *   console.log(engine.url)
 *   await engine.stop()
 * }
 */
export async function startEngine(options: StartEngineOptions): Promise<StartedEngine> {
  const { type, host = '127.0.0.1', signal } = options
  signal?.throwIfAborted()
  const model = await modelDirectory(options.model)
  const env = { ...process.env, ...options.env }
  const command = await findCommand({ type, command: options.command, env })
  const port = await choosePort(host, options.port)
  const name = options.name ?? basename(model)
  const logFile = resolve(options.logFile ?? join(await mkdtemp(join(tmpdir(), `whetstone-${type}-`)), 'engine.log'))
  const server = await launch({ ...options, host, port, model, name, command, inherited: env, logFile })
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  try {
    await becomeReady({ ...options, url, logFile, server })
  } catch (error) {
    await server.stop()
    throw error
  }
  return { type, url, model: name, pid: server.pid, logFile, exited: server.exited, stop: () => server.stop() }
}

async function modelDirectory(given: string): Promise<string> {
  const model = resolve(given)
  const found = await stat(join(model, 'config.json')).catch(() => undefined)
  if (!found?.isFile()) throw new InputError(`${given}: not a model directory; there is no config.json`)
  return model
}

/** The given port, or any free one. Throws where another process listens at it: that process would be taken for the server. */
async function choosePort(host: string, port: number | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE'
          ? `port ${port} of ${host} is in use`
          : `${host}: cannot listen on this address (${error.code})`
      reject(new LaunchError(reason, { cause: error }))
    })
    probe.listen({ host, port: port ?? 0, exclusive: true }, () => {
      const address = probe.address()
      const chosen = typeof address === 'object' && address !== null ? address.port : (port ?? 0)
      probe.close(() => resolve(chosen))
    })
  })
}

async function launch(
  options: StartEngineOptions & EngineSettings & { command: Command; inherited: NodeJS.ProcessEnv; logFile: string },
): Promise<ServerProcess> {
  const { type, command, inherited, logFile, apiKey } = options
  const invocation = engineInvocation(options)
  const log = await open(logFile, 'a', 0o600).catch(cause => {
    throw new InputError(`${logFile}: cannot be written (${cause.code})`, { cause })
  })
  const scratch = await mkdtemp(join(tmpdir(), `whetstone-${type}-scratch-`))
  try {
    return await startProcess({
      command,
      args: [...invocation.args, ...(type === 'sglang' ? await keyFile(scratch, apiKey) : [])],
      env: {
        ...inherited,
        ...invocation.env,
        // SGLang leaves sockets behind.
        TMPDIR: scratch,
        PATH: pathWith(command, inherited),
        ...(type === 'vllm' && apiKey !== undefined ? { VLLM_API_KEY: apiKey } : {}),
        ...options.env,
      },
      log: log.fd,
      scratch,
    })
  } catch (cause) {
    await removeScratch(scratch)
    throw new LaunchError(`${command[0]}: cannot be run (${(cause as NodeJS.ErrnoException).code})`, { cause })
  } finally {
    await log.close()
  }
}

/** SGLang reads its key from arguments, which every user of the machine can see, or from a file. */
async function keyFile(scratch: string, apiKey: string | undefined): Promise<string[]> {
  if (apiKey === undefined) return []
  const path = join(scratch, 'key.yaml')
  await writeFile(path, `api-key: ${JSON.stringify(apiKey)}\n`, { mode: 0o600 })
  return ['--config', path]
}

async function becomeReady(options: StartEngineOptions & { url: string; logFile: string; server: ServerProcess }) {
  const { type, url, apiKey, server, logFile, readyTimeoutMs = 600_000, signal } = options
  const { label, remedy } = programs[type]
  const started = performance.now()
  let exit: ServerExit | undefined
  server.exited.then(found => {
    exit = found
  })
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  for (;;) {
    signal?.throwIfAborted()
    await hideInLog(logFile, apiKey)
    if (exit !== undefined) {
      const said = await lastLines(logFile, 30)
      const missing = said.some(line => /No module named '?(sglang|vllm)\b/.test(line))
      const unknown = said.some(line => /unrecognized arguments|No such option/i.test(line))
      throw new LaunchError(`${label} ended (${describe(exit)}) before it was ready${withLog(said, logFile)}`, {
        ...(missing ? { remedy } : unknown ? { remedy: otherVersion(type) } : {}),
      })
    }
    const waited = performance.now() - started
    if (waited > readyTimeoutMs) {
      const said = withLog(await lastLines(logFile, 30), logFile)
      throw new LaunchError(`${label} was not ready after ${Math.round(waited / 1000)} s${said}`)
    }
    if (await answers(`${url}${readyPath(type)}`, headers)) return hideInLog(logFile, apiKey)
    options.onProgress?.({ seconds: waited / 1000, lastLine: (await lastLines(logFile, 1))[0] ?? '' })
    await Promise.race([delay(pollMs, undefined, signal ? { signal } : {}).catch(() => {}), server.exited])
  }
}

async function answers(url: string, headers: Record<string, string>): Promise<boolean> {
  try {
    const { ok, body } = await fetch(url, { headers, signal: AbortSignal.timeout(5000), redirect: 'error' })
    await body?.cancel()
    return ok
  } catch {
    return false
  }
}

const otherVersion = (type: EngineType): string =>
  `This version does not know the flags a run needs. Start the server by hand and name it in generator.urls; docs/${type}.md lists flags and versions.`

const describe = ({ code, signal }: ServerExit): string => (signal === null ? `exit code ${code}` : signal)

const withLog = (lines: readonly string[], logFile: string): string =>
  lines.length === 0
    ? `; it printed nothing to ${logFile}`
    : `; the last lines of ${logFile}:\n${lines.map(line => `  ${line}`).join('\n')}`
