/** SGLang's control routes. Every call has a body: the server refuses calls without one. */
import { asObject, callServer, type DialectUpdate, type ServerConnection } from '../remote/dialect.js'
import { EngineError } from '../remote/errors.js'
import { modelInfo, serverInfo } from './probe.js'

const readyMs = 5000
const abortMs = 5000

/**
 * A paused server is up, but `/ready` says it is not. A server that refuses the request is up too: the probe then tells why. `/health`
 * generates a token: it takes a second, and fails while the server is paused.
 */
export async function isReady(server: ServerConnection): Promise<boolean> {
  const { status } = await server.request('GET', '/ready', { timeoutMs: readyMs })
  if (status < 500) return true
  return (await server.request('GET', '/model_info', { timeoutMs: readyMs })).status === 200
}

/** One call for each id; the server gives the same answer for an unknown id. */
export async function abort(server: ServerConnection, attemptIds: readonly string[]): Promise<void> {
  await Promise.all(
    attemptIds.map(rid =>
      callServer(server, { step: 'ending a request', path: '/abort_request', body: { rid }, timeoutMs: abortMs }),
    ),
  )
}

/** `retract` drops the KV cache of running requests, so that it is computed again with the new weights; `in_place` would keep it. */
export async function pause(server: ServerConnection, mode: 'keep' | 'break-off'): Promise<void> {
  const body = { mode: mode === 'keep' ? 'retract' : 'abort' }
  await callServer(server, { step: 'pausing', path: '/pause_generation', body })
}

export async function resume(server: ServerConnection): Promise<void> {
  await callServer(server, { step: 'resuming', path: '/continue_generation', body: {} })
}

export async function update(server: ServerConnection, change: DialectUpdate): Promise<void> {
  if (change.kind === 'adapter') return loadAdapter(server, change)
  if (change.kind === 'name') {
    // By default the server would abort all running requests.
    const body = { new_version: change.marker, abort_all_requests: false }
    return succeed(server, `naming the weights ${change.marker}`, '/update_weight_version', body)
  }
  // Without `weight_version` the old name would stay, without `flush_cache` the KV cache of the old weights.
  const body = { model_path: change.path, weight_version: change.marker, flush_cache: true, abort_all_requests: false }
  return succeed(server, `loading the weights in ${change.path}`, '/update_weights_from_disk', body)
}

/** An adapter of this name may be from another run: unloading and loading replaces it and its cache. */
async function loadAdapter(server: ServerConnection, { name, path }: { name: string; path: string }): Promise<void> {
  const load = (): Promise<void> =>
    succeed(server, `loading the adapter in ${path}`, '/load_lora_adapter', { lora_name: name, lora_path: path })
  try {
    await load()
  } catch (error) {
    if (!(error instanceof EngineError && /already loaded/.test(error.message))) throw error
    await unload(server, name)
    await load()
  }
}

/** The server keeps the name: a request that names the adapter would load it again. */
export async function unload(server: ServerConnection, name: string): Promise<void> {
  await succeed(server, `unloading the adapter ${name}`, '/unload_lora_adapter', { lora_name: name })
}

export async function marker(server: ServerConnection): Promise<string | undefined> {
  const { weight_version } = await modelInfo(server)
  return typeof weight_version === 'string' ? weight_version : undefined
}

/** An update changes the server's model path; after a restart it is the first path again. */
export async function instance(server: ServerConnection): Promise<string | undefined> {
  const { model_path } = await modelInfo(server)
  return typeof model_path === 'string' ? model_path : undefined
}

/** Undefined for `auto`: the model's files decide, and the server does not show them. */
export async function dtype(server: ServerConnection): Promise<string | undefined> {
  const { dtype, quantization } = await serverInfo(server)
  if (typeof quantization === 'string') return quantization
  return typeof dtype === 'string' && dtype !== 'auto' ? dtype : undefined
}

/**
 * Frees the KV cache, and the weights only where the server keeps a copy (`--enable-weights-cpu-backup`): otherwise they would be lost.
 * Pauses first, because a running request would end the server, and a cancelled one runs for seconds.
 */
export async function sleep(server: ServerConnection): Promise<void> {
  const body = { tags: await releasable(server) }
  await pause(server, 'break-off')
  try {
    await callServer(server, { step: 'giving its memory back', path: '/release_memory_occupation', body })
  } catch (error) {
    await resume(server).catch(() => {})
    throw error
  }
}

export async function wake(server: ServerConnection): Promise<void> {
  const body = { tags: await releasable(server) }
  await callServer(server, { step: 'taking its memory again', path: '/resume_memory_occupation', body })
  await resume(server)
}

async function releasable(server: ServerConnection): Promise<readonly string[]> {
  const { enable_weights_cpu_backup } = await serverInfo(server)
  return enable_weights_cpu_backup === true ? ['kv_cache', 'weights'] : ['kv_cache']
}

/** Some control routes answer 200 with `success: false`. */
async function succeed(server: ServerConnection, step: string, path: string, body: unknown): Promise<void> {
  const { success, message, error_message } = asObject(
    await callServer(server, { step, path, body }),
    `${path}'s answer`,
  )
  if (success !== true)
    throw new EngineError(`${server.url}: ${step}: ${message ?? error_message ?? 'it did not succeed'}`)
}
