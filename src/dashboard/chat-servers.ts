/** Models of a run that a page chats with: each is served by a process of its own, which ends when it was not asked for a while. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { ChatLine, ChatRequest } from './api.js'
import { RequestError } from './errors.js'

const command = fileURLToPath(new URL('../../install/whetstone.mjs', import.meta.url))
const guard = new URL('./end-with-parent.js', import.meta.url).href
const idleMs = 10 * 60_000
/** A policy, and the model it started from. */
const mostServers = 2

/** A model directory with arguments of `whetstone serve`, or a checkpoint of a run, which is exported to a temporary one first. */
export type ChatSource =
  | { readonly path: string; readonly args?: readonly string[] }
  | { readonly run: string; readonly step: number }

/** Of `whetstone serve`. */
interface ServedLine {
  readonly choices: readonly {
    readonly delta?: { readonly content?: string }
    readonly text?: string
    readonly finish_reason?: 'stop' | 'length' | null
  }[]
  readonly usage?: { readonly completion_tokens: number } | null
  readonly error?: { readonly message: string }
}

/** The words of an error that `whetstone serve` answered with. */
function errorOf(text: string): string {
  try {
    return (JSON.parse(text) as { error: { message: string } }).error.message
  } catch {
    return text.slice(0, 1000)
  }
}

/** The error that a command ended with, without what it said of its progress. */
function errorIn(said: string): string {
  const at = said.lastIndexOf('\nwhetstone: ')
  return said.slice(at < 0 ? 0 : at + '\nwhetstone: '.length).trim()
}

interface Served {
  /** Ends its processes, and removes what was exported for it. */
  readonly end: () => Promise<void>
  readonly key: string
  readonly url: Promise<string>
  timer: NodeJS.Timeout | undefined
}

export class ChatServers {
  readonly #servers = new Map<string, Served>()

  /** The answer of a model, as it comes. */
  async *chat(model: ChatSource, request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatLine> {
    const served = this.#serve(model)
    const url = await served.url
    const { messages, temperature, maxNewTokens = 256 } = request
    const ask = (route: string, asked: object): Promise<Response> =>
      fetch(`${url}${route}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${served.key}` },
        body: JSON.stringify({
          ...{ model: 'model', ...asked, temperature, max_tokens: maxNewTokens },
          ...{ stream: true, stream_options: { include_usage: true } },
        }),
        signal,
      })
    let answer = await ask('/chat/completions', { messages })
    let problem = answer.ok ? '' : errorOf(await answer.text())
    // A model that continues texts is asked as the policy of a run is.
    if (problem.includes('no chat template')) {
      answer = await ask('/completions', { prompt: messages.map(({ content }) => content).join('\n') })
      problem = answer.ok ? '' : errorOf(await answer.text())
    }
    if (problem !== '' || !answer.body) throw new RequestError(400, problem)
    let text = ''
    let finish: 'stop' | 'length' | undefined
    let tokens = 0
    for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
      text += part
      const lines = text.split('\n')
      text = lines.pop()!
      for (const line of lines) {
        if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
        const { choices, usage, error } = JSON.parse(line.slice('data: '.length)) as ServedLine
        if (error) throw new RequestError(502, error.message)
        const [choice] = choices
        const part = choice?.delta?.content ?? choice?.text
        if (part) yield { text: part }
        if (choice?.finish_reason) finish = choice.finish_reason
        if (usage) tokens = usage.completion_tokens
      }
    }
    if (finish) yield { finish, tokens }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.keys()].map(name => this.#end(name)))
  }

  #serve(model: ChatSource): Served {
    const name = 'path' in model ? [model.path, ...(model.args ?? [])].join('\n') : `${model.step} ${model.run}`
    const known = this.#servers.get(name) ?? this.#start(name, model)
    this.#servers.delete(name)
    this.#servers.set(name, known)
    for (const [oldest] of this.#servers) {
      if (this.#servers.size <= mostServers) break
      void this.#end(oldest)
    }
    clearTimeout(known.timer)
    known.timer = setTimeout(() => void this.#end(name), idleMs).unref()
    return known
  }

  #start(name: string, model: ChatSource): Served {
    const key = randomBytes(24).toString('base64url')
    const ended = new AbortController()
    const work: { directory?: string; child?: ChildProcess } = {}
    const serve = async (): Promise<string> => {
      let path = 'path' in model ? model.path : ''
      if ('step' in model) {
        work.directory = await mkdtemp(join(tmpdir(), 'whetstone-chat-'))
        path = join(work.directory, 'model')
        await this.#run(work, ['export', model.run, '--step', String(model.step), '--out', path], { ended, key })
      }
      const { args = [] } = 'path' in model ? model : {}
      const options = ['--port', '0', '--served-model-name', 'model', ...args]
      return this.#run(work, ['serve', '--model', path, ...options], { ended, key })
    }
    const url = serve()
    // One that ends by itself is started again by the next question.
    const ends = (): void => {
      if (this.#servers.get(name)?.url === url) void this.#end(name)
    }
    url.then(() => work.child?.once('exit', ends), ends)
    const end = async (): Promise<void> => {
      ended.abort()
      work.child?.kill()
      await url.catch(() => {})
      if (work.directory !== undefined) await rm(work.directory, { recursive: true, force: true })
    }
    return { end, key, url, timer: undefined }
  }

  /** Resolves to the address that the command serves at, or when it has ended well. */
  #run(
    work: { child?: ChildProcess },
    args: readonly string[],
    { ended, key }: { ended: AbortController; key: string },
  ): Promise<string> {
    if (ended.signal.aborted) throw new RequestError(409, 'the chat ended')
    const child = spawn(process.execPath, ['--import', guard, command, ...args], {
      env: { ...process.env, WHETSTONE_API_KEY: key },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    work.child = child
    return new Promise((resolve, reject) => {
      let said = ''
      for (const stream of [child.stdout, child.stderr])
        createInterface({ input: stream }).on('line', line => {
          said = `${said}${line}\n`.slice(-2000)
          const found = /\bat (http:\/\/\S+)$/.exec(line)?.[1]
          if (found) resolve(found)
        })
      child.on('error', reject)
      child.on('exit', code => {
        if (code === 0) resolve('')
        else reject(new RequestError(500, `the model could not be served: ${errorIn(said)}`))
      })
    })
  }

  async #end(name: string): Promise<void> {
    const served = this.#servers.get(name)
    this.#servers.delete(name)
    clearTimeout(served?.timer)
    await served?.end()
  }
}
