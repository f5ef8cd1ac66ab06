/** The control routes of vLLM: the fields of their bodies and their answers. */
import { WhetstoneError } from '../../errors/index.js'
import { ApiError, badRequest, malformed } from '../errors.js'
import type { Exchange } from '../exchange.js'
import { flag, object, string, strings } from '../field-schemas.js'
import type { InFlight } from '../in-flight.js'
import { type FieldTable, harmless, honoured, RequestShape, refused } from '../request-shape.js'
import { pauseModes, type ServerControl } from './server-control.js'

export interface ControlRoute {
  method: 'GET' | 'POST'
  /** `none`: a body is not read. */
  body: 'json' | 'none'
  run: (control: ServerControl, exchange: Exchange, inFlight: InFlight) => void | Promise<void>
}

export const collectiveRpcFields = {
  method: honoured(string, 'reload_weights; any other is a 501'),
  kwargs: honoured(object, 'see below'),
  args: refused('reload_weights takes kwargs', []),
  timeout: harmless('the client’s own deadline ends its waiting'),
} satisfies FieldTable

export const reloadWeightsFields = {
  weights_path: honoured(string, 'a model directory under `--weights-root`, absolute or from there on'),
  weights_iterator: refused('weights come from a directory'),
  is_checkpoint_format: refused('weights are in the names and shapes of their checkpoint', true),
} satisfies FieldTable

export const weightVersionFields = {
  new_version: honoured(string, 'up to 256 characters'),
} satisfies FieldTable

export const abortFields = {
  request_ids: honoured(strings, 'ids of answers, or `id-k` for prompt k of one; none: all'),
} satisfies FieldTable

export const loadAdapterFields = {
  lora_name: honoured(string, 'up to 256 characters'),
  lora_path: honoured(string, 'a directory in PEFT’s format under `--weights-root`'),
  load_inplace: honoured(flag, 'in the place of one of the same name'),
  is_3d_lora_weight: refused('adapters are of two matrices', false),
} satisfies FieldTable

export const unloadAdapterFields = {
  lora_name: honoured(string),
  lora_int_id: harmless('adapters go by their names'),
} satisfies FieldTable

const abortShape = new RequestShape(abortFields)
const rpcShape = new RequestShape(collectiveRpcFields)
const reloadShape = new RequestShape(reloadWeightsFields, 'body.kwargs')
const versionShape = new RequestShape(weightVersionFields)
const loadShape = new RequestShape(loadAdapterFields)
const unloadShape = new RequestShape(unloadAdapterFields)

const get = (run: ControlRoute['run']): ControlRoute => ({ method: 'GET', body: 'none', run })
const tell = (run: ControlRoute['run']): ControlRoute => ({ method: 'POST', body: 'none', run })
const post = (run: ControlRoute['run']): ControlRoute => ({ method: 'POST', body: 'json', run })

const longestName = 256

export const controlRoutes: Readonly<Record<string, ControlRoute>> = {
  '/pause': tell(async (control, exchange) => {
    // The cache of other weights is never used, so both values mean the same.
    choice(exchange, 'clear_cache', ['true', 'false', '1', '0'], 'true')
    await control.pause(choice(exchange, 'mode', pauseModes, 'abort'))
    exchange.json(200, { status: 'paused' })
  }),
  '/resume': tell((control, exchange) => {
    control.resume()
    exchange.json(200, { status: 'resumed' })
  }),
  '/is_paused': get((control, exchange) => exchange.json(200, { is_paused: control.isPaused })),
  '/sleep': tell(async (control, exchange) => {
    const level = Number(choice(exchange, 'level', ['0', '1', '2'], '1'))
    await control.sleep(level, choice(exchange, 'mode', pauseModes, 'abort'))
    exchange.json(200, { status: 'sleeping', level })
  }),
  '/wake_up': tell(async (control, exchange) => {
    const tags = exchange.query.getAll('tags')
    const known = ['weights', 'kv_cache', 'scheduling'] as const
    const parts = tags.map(tag => known.find(each => each === tag) ?? unknownChoice('tags', tag, known))
    const memory = parts.filter(part => part !== 'scheduling')
    await control.wake(...(tags.length === 0 ? [] : [memory]))
    exchange.json(200, { status: control.isSleeping ? 'sleeping' : 'awake', tags: tags.length === 0 ? null : tags })
  }),
  '/is_sleeping': get((control, exchange) => exchange.json(200, { is_sleeping: control.isSleeping })),
  // The cache of a request ends with it.
  '/reset_prefix_cache': tell((_, exchange) => exchange.json(200, { success: true })),
  '/collective_rpc': post(collectiveRpc),
  '/update_weight_version': post(async (control, exchange) => {
    const name = needed(versionShape.read(exchange.body).new_version, 'new_version')
    await control.nameVersion(name)
    exchange.json(200, { success: true, new_version: name })
  }),
  '/weight_info': get((control, exchange) => exchange.json(200, { weight_version: control.versions.current })),
  '/get_world_size': get((_, exchange) => exchange.json(200, { world_size: 1 })),
  '/abort_requests': post((_, exchange, inFlight) => {
    const { request_ids: names = [] } = abortShape.read(exchange.body)
    for (const name of names) inFlight.abort(name)
    exchange.json(200, { status: 'aborted', aborted: names.length === 0 ? inFlight.abortAll() : names.length })
  }),
}

/** Only for an engine that takes adapters. */
export const adapterRoutes: Readonly<Record<string, ControlRoute>> = {
  '/v1/load_lora_adapter': post(async (control, exchange) => {
    const { lora_name, lora_path, load_inplace } = loadShape.read(exchange.body)
    if (!lora_name || !lora_path)
      throw new ApiError(400, "Both 'lora_name' and 'lora_path' must be provided.", { type: 'InvalidUserInput' })
    const name = needed(lora_name, 'lora_name')
    try {
      await control.loadAdapter(name, lora_path, { replaces: load_inplace ? 'same-name' : 'nothing' })
    } catch (error) {
      throw error instanceof WhetstoneError ? badRequest(error.message, 'lora_path') : error
    }
    exchange.text(200, `Success: LoRA adapter '${name}' added successfully.`)
  }),
  '/v1/unload_lora_adapter': post((control, exchange) => {
    const name = needed(unloadShape.read(exchange.body).lora_name, 'lora_name')
    control.unloadAdapter(name)
    exchange.text(200, `Success: LoRA adapter '${name}' removed successfully.`)
  }),
}

async function collectiveRpc(control: ServerControl, exchange: Exchange): Promise<void> {
  const { method, kwargs = {} } = rpcShape.read(exchange.body)
  if (needed(method, 'method') !== 'reload_weights')
    throw new ApiError(501, `collective_rpc: there is reload_weights, not ${JSON.stringify(method)}.`)
  const path = needed(reloadShape.read(kwargs).weights_path, 'kwargs.weights_path', 4096)
  try {
    await control.reload(path)
  } catch (error) {
    const failed = error instanceof WhetstoneError || (error instanceof ApiError && error.status === 404)
    throw failed ? new ApiError(500, `Call to collective_rpc method failed: ${error.message}`) : error
  }
  exchange.json(200, { results: [null] })
}

function needed(text: string | undefined, field: string, longest = longestName): string {
  if (!text) throw malformed(`${field}: Field required`, `body.${field}`)
  if (text.length > longest) throw badRequest(`${field} has at most ${longest} characters.`, field)
  return text
}

/** A value of the query. */
function choice<const T extends string>(exchange: Exchange, name: string, values: readonly T[], otherwise: T): T {
  const given = exchange.query.get(name) ?? otherwise
  return values.find(value => value === given) ?? unknownChoice(name, given, values)
}

function unknownChoice(name: string, given: string, values: readonly string[]): never {
  throw malformed(
    `${name}: Input should be ${values.join(', ')}, got ${JSON.stringify(given.slice(0, 100))}`,
    `query.${name}`,
  )
}
