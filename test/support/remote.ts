/** Both servers' doubles, and the clients that connect to them: what tests of engines behind a network are run over. */
import { setTimeout as delay } from 'node:timers/promises'
import {
  connectSglang,
  connectVllm,
  type EngineEvent,
  type GenerateOptions,
  type GenerationRequest,
  type Generator,
  type Outcome,
  type RemoteOptions,
  type SamplingParams,
} from '../../src/rollout/index.js'
import { atEnd } from './at-end.js'
import type { EngineServer } from './doubles/engine-server.js'
import { SglangServer } from './doubles/sglang-server.js'
import { toyVocabSize } from './doubles/toy-model.js'
import { VllmServer } from './doubles/vllm-server.js'

export interface EngineKind {
  readonly name: string
  /** Where it generates. */
  readonly path: string
  /** Where it gets weights from a directory. */
  readonly updatePath: string
  readonly serve: (given?: { policyVersion?: number; apiKey?: string }) => EngineServer
  readonly connect: (options: RemoteOptions) => Promise<Generator>
}

export const kinds: readonly EngineKind[] = [
  {
    name: 'vLLM',
    path: '/inference/v1/generate',
    updatePath: '/collective_rpc',
    serve: given => new VllmServer(given),
    connect: connectVllm,
  },
  {
    name: 'vLLM by completions',
    path: '/v1/completions',
    updatePath: '/collective_rpc',
    serve: given => new VllmServer({ ...given, without: ['scale-out'] }),
    connect: connectVllm,
  },
  {
    name: 'SGLang',
    path: '/generate',
    updatePath: '/update_weights_from_disk',
    serve: given => new SglangServer({ ...given, flags: ['enable-deterministic-inference', 'enable-memory-saver'] }),
    connect: connectSglang,
  },
]

export interface World {
  readonly servers: readonly EngineServer[]
  readonly server: EngineServer
  readonly generator: Generator
  readonly events: EngineEvent[]
}

/** Servers that are up, and a generator over them. */
export async function world(
  kind: EngineKind,
  { servers: count = 1, apiKey, ...options }: Partial<RemoteOptions> & { servers?: number } = {},
): Promise<World> {
  const servers = await Promise.all(Array.from({ length: count }, () => started(kind, apiKey)))
  const events: EngineEvent[] = []
  const generator = await connected(kind, {
    urls: servers.map(({ url }) => url),
    onEvent: event => events.push(event),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...options,
  })
  for (const server of servers) server.received.length = 0
  return { servers, server: servers[0]!, generator, events }
}

export async function started(kind: EngineKind, apiKey?: string): Promise<EngineServer> {
  const server = await kind.serve(apiKey === undefined ? {} : { apiKey }).start()
  atEnd(() => server.stop())
  return server
}

export async function connected(kind: EngineKind, options: Omit<RemoteOptions, 'vocabSize'>): Promise<Generator> {
  const generator = await kind.connect({ vocabSize: toyVocabSize, ...options })
  atEnd(() => generator.close())
  return generator
}

/** Waits for something to become true: `expect.poll` is not for tests that run beside each other. */
export async function until(
  what: () => boolean | Promise<boolean>,
  { timeoutMs = 30_000, everyMs = 5 }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<void> {
  for (const end = performance.now() + timeoutMs; !(await what()); await delay(everyMs))
    if (performance.now() > end) throw new Error(`not within ${timeoutMs / 1000} s: ${what}`)
}

export const prompt = [58, 185, 41, 110, 227]

/** A greedy request: its tokens are known. */
export const greedy = (
  id: string,
  {
    promptIds = prompt,
    n = 1,
    ...sampling
  }: Partial<SamplingParams> & { promptIds?: readonly number[]; n?: number } = {},
): GenerationRequest => ({
  id,
  promptIds: Int32Array.from(promptIds),
  n,
  sampling: { seed: 1, maxNewTokens: 12, temperature: 0, ignoreEos: true, ...sampling },
})

export async function outcomesOf(
  generator: Generator,
  requests: Iterable<GenerationRequest> | AsyncIterable<GenerationRequest>,
  options?: GenerateOptions,
): Promise<Outcome[]> {
  const found: Outcome[] = []
  for await (const outcome of generator.generate(requests, options)) found.push(outcome)
  return found
}
