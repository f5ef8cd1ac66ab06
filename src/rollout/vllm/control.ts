/** vLLM's control routes (of its development mode). */
import { asObject, callServer, type DialectUpdate, type ServerConnection, type ServerFacts } from '../remote/dialect.js'
import { EngineError } from '../remote/errors.js'

const readyMs = 5000
const abortMs = 5000
const metricsMs = 10_000
const descriptionMs = 60_000

export async function isReady(server: ServerConnection): Promise<boolean> {
  const { status } = await server.request('GET', '/health', { timeoutMs: readyMs })
  return status === 200
}

/** By the engine's names of a request, on both routes. */
export async function abort(server: ServerConnection, attemptIds: readonly string[]): Promise<void> {
  const ids = attemptIds.flatMap(id => [`generate-tokens-${id}`, `cmpl-${id}-0`])
  await callServer(server, {
    step: 'ending requests',
    path: '/abort_requests',
    body: { request_ids: ids },
    timeoutMs: abortMs,
  })
}

/** Clears the cache: waiting requests are computed again with the new weights. */
export async function pause(server: ServerConnection, mode: 'keep' | 'break-off'): Promise<void> {
  const path = `/pause?mode=${mode === 'keep' ? 'keep' : 'abort'}&clear_cache=true`
  await callServer(server, { step: 'pausing', path })
}

export async function resume(server: ServerConnection): Promise<void> {
  await callServer(server, { step: 'resuming', path: '/resume' })
}

export async function update(server: ServerConnection, update: DialectUpdate, facts: ServerFacts): Promise<void> {
  if (update.kind === 'adapter') {
    await callServer(server, {
      step: `loading the adapter in ${update.path}`,
      path: '/v1/load_lora_adapter',
      body: { lora_name: update.name, lora_path: update.path },
    })
    return
  }
  if (update.kind === 'directory') {
    await callServer(server, {
      step: `loading the weights in ${update.path}`,
      path: '/collective_rpc',
      body: { method: 'reload_weights', kwargs: { weights_path: update.path } },
    })
    await resetCache(server)
  }
  if (facts.namesWeights)
    await callServer(server, {
      step: `naming the weights ${update.marker}`,
      path: '/update_weight_version',
      body: { new_version: update.marker },
    })
}

/** A KV cache of the old weights would give tokens of neither model. */
async function resetCache(server: ServerConnection): Promise<void> {
  const step = 'clearing the prefix cache'
  const answer = await callServer(server, { step, path: '/reset_prefix_cache?reset_running_requests=true' })
  if (answer !== undefined && asObject(answer, 'the answer').success === false)
    throw new EngineError(`${server.url}: ${step}: the server could not do it while requests ran`)
}

export async function unload(server: ServerConnection, name: string): Promise<void> {
  await callServer(server, {
    step: `unloading the adapter ${name}`,
    path: '/v1/unload_lora_adapter',
    body: { lora_name: name },
  })
}

export async function marker(server: ServerConnection, facts: ServerFacts): Promise<string | undefined> {
  if (!facts.namesWeights) return undefined
  const answer = await callServer(server, { step: 'asking for the weights', method: 'GET', path: '/weight_info' })
  const { weight_version: version } = asObject(answer, 'the answer')
  return version === undefined || version === null ? undefined : String(version)
}

/** The start time of its process, from its metrics. */
export async function instance(server: ServerConnection): Promise<string | undefined> {
  const { status, text } = await server.request('GET', '/metrics', { timeoutMs: metricsMs })
  return status === 200 ? /^process_start_time_seconds (\S+)/m.exec(text)?.[1] : undefined
}

/** From the description of its config. The answer also describes the machine, which takes seconds. */
export async function dtype(server: ServerConnection): Promise<string | undefined> {
  const { status, text } = await server.request('GET', '/server_info', { timeoutMs: descriptionMs })
  if (status !== 200) return undefined
  const quantization = /\bquantization=(\w+)/.exec(text)?.[1]
  return quantization === undefined || quantization === 'None' ? /\bdtype=torch\.(\w+)/.exec(text)?.[1] : quantization
}

export async function sleep(server: ServerConnection): Promise<void> {
  await callServer(server, { step: 'going to sleep', path: '/sleep?level=1' })
}

export async function wake(server: ServerConnection): Promise<void> {
  await callServer(server, { step: 'waking up', path: '/wake_up' })
}
