/** Connects to engine servers, and inspects them before a run. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Generator } from './generator.js'
import type { InspectedServer } from './remote/dialect.js'
import { EngineClient } from './remote/engine-client.js'
import { TransportError } from './remote/errors.js'
import { type RemoteOptions, resolveRemoteOptions } from './remote/options.js'
import { RemoteGenerator } from './remote/remote-generator.js'
import { sglangDialect } from './sglang/dialect.js'
import { vllmDialect } from './vllm/dialect.js'

/**
 * vLLM servers, or servers of `whetstone serve`, as an engine. Resolves when one of them can be used.
 *
 * @example
 * const engine = await connectVllm({ urls: ['http://127.0.0.1:8000'], vocabSize: 151_936 })
 */
export function connectVllm(options: RemoteOptions): Promise<Generator> {
  return RemoteGenerator.connect(vllmDialect(options), options)
}

/**
 * SGLang servers as an engine. Resolves when one of them can be used. Log-probabilities are after temperature and before filters; seeds
 * have an effect only with `--enable-deterministic-inference`.
 *
 * @example
 * const engine = await connectSglang({ urls: ['http://127.0.0.1:30000'], vocabSize: 151_936 })
 */
export function connectSglang(options: Omit<RemoteOptions, 'model'>): Promise<Generator> {
  return RemoteGenerator.connect(sglangDialect(options), options)
}

interface InspectOptions {
  readonly type: 'vllm' | 'sglang'
  readonly urls: readonly string[]
  readonly apiKey?: string | undefined
  /** The served model's name. */
  readonly model?: string | undefined
}

/** A server that does not answer in time is skipped. */
const patienceMs = 10_000

/** Facts of the servers that answer; the others may still be starting. Throws where a server refuses. Changes nothing on servers. */
export async function inspectServers(
  options: InspectOptions,
): Promise<readonly (InspectedServer & { readonly url: string })[]> {
  const { type, urls, apiKey, model } = options
  const dialect = type === 'vllm' ? vllmDialect({ model }) : sglangDialect()
  const { addresses } = resolveRemoteOptions({ urls, vocabSize: 1, ...(apiKey === undefined ? {} : { apiKey }) })
  const found = await Promise.all(
    addresses.map(async address => {
      const server = new EngineClient({ address, apiKey, maxInFlight: 1, controlTimeoutMs: patienceMs })
      const late = new AbortController()
      try {
        const looked = dialect.inspect(server).then(inspected => [{ url: server.url, ...inspected }])
        return await Promise.race([looked, delay(patienceMs, [], { signal: late.signal })])
      } catch (error) {
        if (error instanceof TransportError) return []
        throw error
      } finally {
        late.abort()
        await server.close()
      }
    }),
  )
  return found.flat()
}
