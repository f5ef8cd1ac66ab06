/** What an SGLang server is told besides generation. Every call carries a body: without one they are refused. */
import { asObject, callServer, type DialectUpdate, type ServerConnection } from '../remote/dialect.js'
import { EngineError } from '../remote/errors.js'
import { modelInfo, serverInfo } from './probe.js'

const readyMs = 5000
const abortMs = 5000

/**
 * Paused, it is up and says at `/ready` that it is not. What refuses us is there too: the probe then says why. `/health` would
 * generate a token: it takes a second, and while paused declares the server ill.
 */
export async function isReady(server: ServerConnection): Promise<boolean> {
  const { status } = await server.request('GET', '/ready', { timeoutMs: readyMs })
  if (status < 500) return true
  return (await server.request('GET', '/model_info', { timeoutMs: readyMs })).status === 200
}

/** By name, one call each: the server answers the same whether it knew the name or not. */
export async function abort(server: ServerConnection, attemptIds: readonly string[]): Promise<void> {
  await Promise.all(
    attemptIds.map(rid =>
      callServer(server, { step: 'ending a request', path: '/abort_request', body: { rid }, timeoutMs: abortMs }),
    ),
  )
}

/**
 * `retract` gives the keys and values of running requests up, so that they are computed again with whatever weights there are
 * when it goes on; `in_place` would keep those of the old ones.
 */
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
    // By default everything under way would be aborted.
    const body = { new_version: change.marker, abort_all_requests: false }
    return succeed(server, `naming the weights ${change.marker}`, '/update_weight_version', body)
  }
  // Without its name the new weights would carry the old one's, without the flush their keys and values.
  const body = { model_path: change.path, weight_version: change.marker, flush_cache: true, abort_all_requests: false }
  return succeed(server, `loading the weights in ${change.path}`, '/update_weights_from_disk', body)
}

/** A name that is loaded already may be another run's: unloading and loading replaces it, its cache included. */
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

/** The server forgets its weights, not its name: a request that names it would load it again. */
export async function unload(server: ServerConnection, name: string): Promise<void> {
  await succeed(server, `unloading the adapter ${name}`, '/unload_lora_adapter', { lora_name: name })
}

export async function marker(server: ServerConnection): Promise<string | undefined> {
  const { weight_version } = await modelInfo(server)
  return typeof weight_version === 'string' ? weight_version : undefined
}

/** An update changes the path that it names as its model's; started anew, it names its first. */
export async function instance(server: ServerConnection): Promise<string | undefined> {
  const { model_path } = await modelInfo(server)
  return typeof model_path === 'string' ? model_path : undefined
}

/** `auto`: by the model's files, which the server does not show. */
export async function dtype(server: ServerConnection): Promise<string | undefined> {
  const { dtype, quantization } = await serverInfo(server)
  if (typeof quantization === 'string') return quantization
  return typeof dtype === 'string' && dtype !== 'auto' ? dtype : undefined
}

/**
 * Keys and values are given back always, weights only where the server keeps a copy of them (`--enable-weights-cpu-backup`): else
 * what comes back is whatever was left in that memory. Paused, for a request that is under way would end the server; one whose
 * client has gone is, for seconds.
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

/** Control routes say `success`, and some say no with a status that says yes. */
async function succeed(server: ServerConnection, step: string, path: string, body: unknown): Promise<void> {
  const { success, message, error_message } = asObject(
    await callServer(server, { step, path, body }),
    `${path}'s answer`,
  )
  if (success !== true)
    throw new EngineError(`${server.url}: ${step}: ${message ?? error_message ?? 'it did not succeed'}`)
}
