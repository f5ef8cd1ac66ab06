/** Models of a run that a page chats with: each is served by a process of its own, which ends when it was not asked for a while. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { ChatLine, ChatRequest } from './api.js'
import { RequestError } from './errors.js'

const command = fileURLToPath(new URL('../../install/whetstone.mjs', import.meta.url))
const idleMs = 10 * 60_000
/** A policy, and the model it started from. */
const mostServers = 2

interface Served {
  readonly child: ChildProcess
  readonly key: string
  readonly url: Promise<string>
  timer: NodeJS.Timeout | undefined
}

export class ChatServers {
  readonly #servers = new Map<string, Served>()

  /** The answer of a model, as it comes. */
  async *chat(model: string, request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatLine> {
    const served = this.#serve(model)
    const url = await served.url
    const { messages, temperature, maxNewTokens = 256 } = request
    const answer = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${served.key}` },
      body: JSON.stringify({ model: 'model', messages, temperature, max_tokens: maxNewTokens, stream: true }),
      signal,
    })
    if (!answer.ok || !answer.body) throw new RequestError(400, (await answer.text()).slice(0, 1000))
    let text = ''
    let tokens = 0
    for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
      text += part
      const lines = text.split('\n')
      text = lines.pop()!
      for (const line of lines) {
        if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
        const { choices } = JSON.parse(line.slice('data: '.length)) as {
          choices: { delta?: { content?: string }; finish_reason?: 'stop' | 'length' | null }[]
        }
        const [choice] = choices
        if (choice?.delta?.content) {
          tokens++
          yield { text: choice.delta.content }
        }
        if (choice?.finish_reason) yield { finish: choice.finish_reason, tokens }
      }
    }
  }

  async close(): Promise<void> {
    for (const [model] of this.#servers) this.#end(model)
  }

  #serve(model: string): Served {
    const known = this.#servers.get(model) ?? this.#start(model)
    this.#servers.delete(model)
    this.#servers.set(model, known)
    for (const [oldest] of this.#servers) {
      if (this.#servers.size <= mostServers) break
      this.#end(oldest)
    }
    clearTimeout(known.timer)
    known.timer = setTimeout(() => this.#end(model), idleMs).unref()
    return known
  }

  #start(model: string): Served {
    const key = randomBytes(24).toString('base64url')
    const child = spawn(
      process.execPath,
      [command, 'serve', '--model', model, '--port', '0', '--served-model-name', 'model'],
      { env: { ...process.env, WHETSTONE_API_KEY: key }, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const url = new Promise<string>((resolve, reject) => {
      let said = ''
      for (const stream of [child.stdout, child.stderr])
        createInterface({ input: stream }).on('line', line => {
          said = `${said}${line}\n`.slice(-2000)
          const found = /\bat (http:\/\/\S+)$/.exec(line)?.[1]
          if (found) resolve(found)
        })
      child.on('exit', () => {
        this.#servers.delete(model)
        reject(new RequestError(500, `the model could not be served: ${said.trim()}`))
      })
    })
    url.catch(() => {})
    return { child, key, url, timer: undefined }
  }

  #end(model: string): void {
    const served = this.#servers.get(model)
    this.#servers.delete(model)
    clearTimeout(served?.timer)
    served?.child.kill()
  }
}
