/** Chats with the live policy, with models that a run has written, and with the one it started from. */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { askRun, type RunView } from '../../run/index.js'
import type { ChatModel, ChatModelsAnswer } from '../api.js'
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
  const { directory, view } = await catalog.run(parts.run!)
  return { models: (await modelsOf(directory, view)).map(({ path: _, ...model }) => model) }
}

export const chatRoute: Handler = async ({ catalog, chats }, exchange) => {
  const { directory, view } = await catalog.run(exchange.parts.run!)
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
    model.path === undefined
      ? askRun(directory, { ask: 'chat', ...request }, { signal, patienceMs: 0 })
      : chats.chat(model.path, request, signal)
  response.writeHead(200, { ...securityHeaders, 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' })
  try {
    for await (const line of lines) {
      if (response.destroyed) return
      // A page that does not read its answer is waited for here, and nowhere else.
      if (!response.write(`${JSON.stringify(line)}\n`)) await new Promise(resolve => response.once('drain', resolve))
    }
  } catch (error) {
    if (!response.destroyed)
      response.write(`${JSON.stringify({ error: error instanceof Error ? error.message : String(error) })}\n`)
  }
  response.end()
}

/** `path`: of a model that is served from its directory. */
async function modelsOf(directory: string, view: RunView): Promise<(ChatModel & { path?: string })[]> {
  const names = await readdir(directory).catch((): string[] => [])
  const own = names.filter(name => /^(best|final|ema)_model$|^iteration_\d+$/.test(name)).sort()
  const { model } = (view.config.config ?? {}) as { model?: unknown }
  const models: (ChatModel & { path?: string })[] = []
  if (view.config.command === 'rl')
    models.push({
      name: 'policy',
      text: 'the policy as it is now; a run that trains answers between two iterations',
      reason: await whyDeaf(directory, view),
    })
  for (const name of own)
    models.push({ name, text: name.replaceAll('_', ' '), reason: null, path: join(directory, name) })
  if (typeof model === 'string')
    models.push({
      name: 'start',
      text: 'the model that the run started from',
      reason: existsSync(model) ? null : `${model} is not there any more`,
      path: model,
    })
  return models
}
