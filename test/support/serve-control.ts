/** A server with control over a tiny model, and what else its clients need: other weights, adapters, a root with both. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { LocalEngine, type OpenedEngine, type OpenOptions, openEngine } from '../../src/rollout/index.js'
import { type ControlOptions, ModelServer, type ServeOptions } from '../../src/serve/index.js'
import { temporaryDirectory } from './files.js'
import { numbers, randomIds } from './generation.js'
import { type Answer, send, until } from './serve.js'
import { widerDirectory } from './tiny-model.js'

export const apiKey = 'secret'
export const prompt = [...randomIds(numbers(4), 9)]
/** Tokens of the greedy answers below. */
export const length = 40

/** Weights in a directory, and what they answer to `prompt` without chance. */
export interface Weights {
  path: string
  ids: number[]
}

export interface ControlFiles {
  /** Of the models below, and the root that a server reads from. */
  root: string
  /** Beside the root. */
  outside: string
  model: Weights
  other: Weights
  adapters: readonly [Weights, Weights]
}

async function greedy(model: LocalModel<'language'>): Promise<number[]> {
  const engine = new LocalEngine(model)
  const sampling = { seed: 1, temperature: 0, maxNewTokens: length, ignoreEos: true }
  const { value } = await engine.generate([{ id: 'a', promptIds: Int32Array.from(prompt), sampling }]).next()
  await engine.close()
  if (value?.kind !== 'completed') throw new Error(`not completed: ${JSON.stringify(value)}`)
  return [...value.responseIds]
}

async function train(model: LocalModel<'language'>, seed: number): Promise<void> {
  await model.forwardBackward([randomIds(numbers(seed), 30)], outputs =>
    outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1) })),
  )
  await model.step({ lr: 0.05 })
}

export async function controlFiles(): Promise<ControlFiles> {
  const folder = temporaryDirectory()
  const [root, outside] = [join(folder, 'root'), join(folder, 'outside')]
  for (const path of [root, outside]) mkdirSync(path)
  const directory = await widerDirectory()
  const base = await LocalModel.load(directory, { role: 'language' })
  const model = { path: join(root, 'model'), ids: await greedy(base) }
  await base.export(model.path, { what: 'model' })
  await train(base, 9)
  const other = { path: join(root, 'other'), ids: await greedy(base) }
  await base.export(other.path, { what: 'model' })
  await base.export(join(outside, 'other'), { what: 'model' })
  base.dispose()
  const adapters: Weights[] = []
  for (const seed of [3, 4]) {
    const adapter = { rank: 4, alpha: 8, dropout: 0, targets: ['q_proj', 'v_proj', 'down_proj'] as const, seed }
    const adapted = await LocalModel.load(directory, { role: 'language', adapter })
    await train(adapted, seed)
    const path = join(root, `adapter-${seed}`)
    await adapted.export(path, { what: 'adapter' })
    adapters.push({ path, ids: await greedy(adapted) })
    adapted.dispose()
  }
  const [first, second] = adapters
  return { root, outside, model, other, adapters: [first!, second!] }
}

export interface Controlled {
  opened: OpenedEngine
  server: ModelServer
  /** Without a body a GET, or a POST where `method` says so; with the key, unless headers say otherwise. */
  ask(path: string, body?: unknown, options?: { method?: string; headers?: Record<string, string> }): Promise<Answer>
  /** A greedy answer by `/inference/v1/generate`. */
  generate(body?: object): Promise<Generated>
  close(): Promise<void>
}

export interface Generated {
  model: string
  choices: {
    token_ids: number[]
    finish_reason: string
    weight_versions: { version: string; start: number; end: number }[]
    logprobs: { content: { logprob: number }[] } | null
  }[]
}

export async function controlled(
  files: ControlFiles,
  given: { engine?: OpenOptions; serve?: Partial<ServeOptions>; control?: Partial<ControlOptions> } = {},
): Promise<Controlled> {
  const opened = await openEngine(files.model.path, { maxSequences: 16, adapters: 'exchangeable', ...given.engine })
  const server = await ModelServer.start({
    engine: opened.engine,
    tokenizer: opened.tokenizer,
    name: 'tiny',
    port: 0,
    apiKey,
    control: { weights: opened.weights, ...(given.control ?? { weightsRoot: files.root }) },
    ...given.serve,
  })
  const ask: Controlled['ask'] = (path, body, { method, headers } = {}) =>
    send(server.port, path, body, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { authorization: `Bearer ${apiKey}`, ...headers },
    })
  return {
    opened,
    server,
    ask,
    async generate(body = {}) {
      const sampling_params = { temperature: 0, max_tokens: length, ignore_eos: true, logprobs: 0 }
      const answer = await ask('/inference/v1/generate', { token_ids: prompt, sampling_params, ...body })
      if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`)
      return JSON.parse(answer.text) as Generated
    },
    async close() {
      await server.close({ graceMs: 0 })
      await opened.close()
    },
  }
}

/** A server with control for the tests of a file, and what they ask it. */
export function controlSuite() {
  let files: ControlFiles
  let it: Controlled
  beforeAll(async () => {
    files = await controlFiles()
    it = await controlled(files)
  })
  afterAll(() => it.close())
  const said = async (path: string, body: unknown) => {
    const { status, text } = await it.ask(path, body)
    return { status, body: text.startsWith('{') ? JSON.parse(text) : text }
  }
  return {
    get files() {
      return files
    },
    get it() {
      return it
    },
    async tell(path: string, on = it) {
      const { status, text } = await on.ask(path, undefined, { method: 'POST' })
      return { status, body: JSON.parse(text) }
    },
    read: async (path: string) => JSON.parse((await it.ask(path)).text),
    said,
    reload: (path: string) => said('/collective_rpc', { method: 'reload_weights', kwargs: { weights_path: path } }),
    first: async (body: object = {}) => (await it.generate(body)).choices[0]!,
    running: () => it.opened.engine.counts.running,
    /** So far into an answer that something of it is there. */
    async begun(tokens = 5): Promise<void> {
      const { generatedTokens } = it.opened.engine.counts
      await until(() => it.opened.engine.counts.generatedTokens >= generatedTokens + tokens)
    },
  }
}

/** A request that takes a while. */
export const long = { sampling_params: { temperature: 0, max_tokens: 200, ignore_eos: true, logprobs: 0 } }
