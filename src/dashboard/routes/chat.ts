/** Chats with the live policy, with models that a run has written, and with the one it started from. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { isAbsolute, join } from 'node:path'
import { z } from 'zod'
import { askRun, type RunView } from '../../run/index.js'
import type { ChatModel, ChatModelsAnswer } from '../api.js'
import type { ChatSource } from '../chat-servers.js'
import { RequestError } from '../errors.js'
import { securityHeaders } from '../exchange.js'
import { whyDeaf } from './acts.js'
import { checkedBody } from './flags.js'
import type { Handler } from './index.js'

const chatSchema = z.strictObject({
  model: z.string().max(200),
  messages: z
    .array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string().max(100_000) }))
    .min(1)
    .max(200),
  temperature: z.number().min(0).max(10),
  maxNewTokens: z.int().min(1).max(4096).optional(),
})

export const chatModelsRoute: Handler = async ({ catalog }, { parts }): Promise<ChatModelsAnswer> => {
  const { directory, view } = await catalog.runNow(parts.run!)
  return { models: (await modelsOf(directory, view)).map(({ source: _, ...model }) => model) }
}

export const chatRoute: Handler = async ({ catalog, chats }, exchange) => {
  const { directory, view } = await catalog.runNow(exchange.parts.run!)
  const { maxNewTokens, ...rest } = await checkedBody(exchange, chatSchema)
  const request = { ...rest, ...(maxNewTokens === undefined ? {} : { maxNewTokens }) }
  const model = (await modelsOf(directory, view)).find(({ name }) => name === request.model)
  if (!model) throw new RequestError(404, `the run has no model ${JSON.stringify(request.model)}`)
  if (model.reason !== null) throw new RequestError(409, model.reason)
  const { response } = exchange
  const gone = new AbortController()
  response.on('close', () => gone.abort(new Error('the page is gone')))
  const { signal } = gone
  const lines =
    model.source === undefined
      ? askRun(directory, { ask: 'chat', ...request }, { signal, patienceMs: 0 })
      : chats.chat(model.source, request, signal)
  response.writeHead(200, { ...securityHeaders, 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
  let isOver = false
  try {
    for await (const line of lines) {
      if (response.destroyed) return
      isOver = 'finish' in line || 'error' in line
      // This is the only place that waits for a page that does not read its answer.
      if (!response.write(`${JSON.stringify(line)}\n`)) await drained(response)
    }
    if (!isOver) throw new RequestError(409, 'the model ended before its answer did')
  } catch (error) {
    if (!response.destroyed)
      response.write(`${JSON.stringify({ error: error instanceof Error ? error.message : String(error) })}\n`)
  }
  response.end()
}

/** Also where the page is gone. */
async function drained(response: ServerResponse): Promise<void> {
  const done = new AbortController()
  const { signal } = done
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]).finally(() =>
    done.abort(),
  )
}

type Chattable = ChatModel & { readonly source?: ChatSource }

/** Without a `source`: the policy of a run that trains. */
async function modelsOf(directory: string, view: RunView): Promise<Chattable[]> {
  const { command, config } = view.config
  const { model, reference, adapter, chatTemplate } = (config ?? {}) as Readonly<Record<string, unknown>>
  const models: Chattable[] = []
  if (command === 'reward') return models
  if (command === 'rl') {
    const text = 'the policy as it is now; a run that trains answers between two iterations'
    models.push({ name: 'policy', text, reason: await whyDeaf(directory, view) })
  }
  const names = await readdir(directory).catch((): string[] => [])
  for (const name of names.sort()) {
    const written = /^(?:(?:best|final|ema)_(?:model|adapter)|iteration_\d+)$/.test(name)
    // Beside a model, its adapter is the same once more.
    if (!written || names.includes(name.replace('_adapter', '_model')) !== !name.endsWith('_adapter')) continue
    models.push({ name, text: name.replaceAll('_', ' '), reason: null, source: { path: join(directory, name) } })
  }
  for (const step of view.checkpoints)
    models.push({
      name: `checkpoint ${step}`,
      text: `checkpoint of step ${step}`,
      reason: null,
      source: { run: directory, step },
    })
  const isOther = reference !== model && !['initial', 'adapter-off', 'none'].includes(String(reference))
  const beside = { ...(isOther ? { reference } : {}), start: model }
  for (const [name, path] of Object.entries(beside)) {
    if (typeof path !== 'string') continue
    const text = name === 'start' ? 'the model that the run started from' : 'the reference of the run'
    // An id of the Hub is found by the server.
    const isGone = isAbsolute(path) && !existsSync(path)
    const args = [
      ...(name === 'start' && typeof adapter === 'string' ? ['--adapter', adapter] : []),
      // As the run asked it: the model itself may have another one, or none.
      ...(['auto', 'none', undefined].includes(chatTemplate as string | undefined)
        ? []
        : ['--chat-template', join(directory, 'tokenizer', 'chat_template.jinja')]),
    ]
    models.push({ name, text, reason: isGone ? `${path} no longer exists` : null, source: { path, args } })
  }
  return models
}
