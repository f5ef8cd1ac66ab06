/** SGLang 0.5.23 as its clients see it, over the toy model. Its answers are compared with recorded ones. */
import { setTimeout as delay } from 'node:timers/promises'
import type { AnswerSpoiling } from './engine-faults.js'
import { EngineServer, type Exchange, nextName, type Reply, type Route } from './engine-server.js'
import { type SglangShape, sglangAnswer, sglangWhole } from './sglang-answers.js'
import { modelInfo, modelList, type SglangFlag, serverInfo } from './sglang-info.js'
import { badBody, badField, badValue, readSglangRequest, type SglangRequest } from './sglang-requests.js'
import { loaded, readToyCheckpoint } from './toy-checkpoint.js'
import { ToyEngine, type ToySequence } from './toy-engine.js'
import { record } from './vllm-requests.js'

export interface SglangServerOptions {
  readonly version?: string
  readonly context?: number
  /** What it was started with; `lora` is on by default, as `--enable-lora` is in a run. */
  readonly flags?: readonly SglangFlag[]
  /** `SGLANG_RETURN_ORIGINAL_LOGPROB`. */
  readonly logprobs?: 'raw' | 'scaled'
  readonly apiKey?: string
  /** The version of the weights it starts with. */
  readonly policyVersion?: number
}

export class SglangServer extends EngineServer {
  private readonly context: number
  private modelPath = '/models/toy'
  /** Adapters that were ever loaded: an unloaded one comes back when it is asked for. */
  private readonly known = new Map<string, string>()

  constructor(private readonly options: SglangServerOptions = {}) {
    const { context = 512, logprobs = 'scaled', policyVersion = 0 } = options
    super(() => new ToyEngine({ maxLength: context - 2, logprobs, randomBy: 'position', version: policyVersion }))
    this.context = context
  }

  private has(flag: SglangFlag): boolean {
    return this.options.flags?.includes(flag) ?? false
  }

  protected readonly generating = ['/generate']

  protected readonly routes: Readonly<Record<string, Route>> = {
    'GET /ready': () => ({ status: this.engine.paused ? 503 : 200, text: '' }),
    'GET /health': () => ({ status: this.engine.paused ? 503 : 200, text: '' }),
    'GET /model_info': () => this.modelInfo(),
    'GET /get_model_info': () => this.modelInfo(),
    'GET /server_info': () => ({ status: 200, json: this.serverInfo() }),
    'GET /get_server_info': () => ({ status: 200, json: this.serverInfo() }),
    'GET /v1/models': () => ({ status: 200, json: modelList(this.modelPath, this.context, this.engine.adapters) }),
    'POST /generate': exchange => this.generate(exchange),
    'POST /abort_request': ({ body }) => {
      const { rid, abort_all } = record<unknown>(body) ?? {}
      this.engine.abort(id => abort_all === true || id === rid)
      return { status: 200, text: '' }
    },
    'POST /flush_cache': () => {
      if (this.engine.running > 0) return { status: 400, text: 'Flush cache failed.\n' }
      this.engine.flush()
      const note =
        'Please check backend logs for more details. (When there are running or waiting requests, the operation will not be performed.)'
      return { status: 200, text: `Cache flushed.\n${note}\n` }
    },
    'POST /pause_generation': ({ body }) => this.pause(record<unknown>(body)?.mode ?? 'abort'),
    'POST /continue_generation': () => {
      this.engine.resume()
      return { status: 200, json: { message: 'Generation continued successfully.', status: 'ok' } }
    },
    'POST /update_weights_from_disk': ({ body }) => this.update(record<unknown>(body) ?? {}),
    'POST /update_weight_version': ({ body }) => {
      const { new_version, abort_all_requests } = record<unknown>(body) ?? {}
      if (abort_all_requests !== false) this.engine.abort(() => true)
      this.engine.marker = String(new_version)
      const message = `Weight version updated to ${new_version}`
      return { status: 200, json: { success: true, message, new_version } }
    },
    'POST /release_memory_occupation': ({ body }) => this.release(record<unknown>(body) ?? {}),
    'POST /resume_memory_occupation': async () => {
      // Memory that it has is not there to be taken: the scheduler ends, and the server with it.
      if (this.has('enable-memory-saver') && !this.engine.asleep) {
        await this.stop()
        return { status: 500, text: '' }
      }
      this.engine.setAsleep(false)
      return { status: 200, json: null }
    },
    'POST /load_lora_adapter': ({ body }) => this.load(record<unknown>(body) ?? {}),
    'POST /unload_lora_adapter': ({ body }) => this.unload(String(record<unknown>(body)?.lora_name)),
  }

  protected guard({ method, path, body, headers }: Exchange): Reply | undefined {
    const { apiKey } = this.options
    if (apiKey !== undefined && !path.startsWith('/health') && headers.authorization !== `Bearer ${apiKey}`)
      return { status: 401, json: { error: 'Unauthorized' } }
    const needsBody = method === 'POST' && path !== '/flush_cache' && `POST ${path}` in this.routes
    if (needsBody && body === undefined)
      return badBody(
        "1 validation error:\n  {'type': 'missing', 'loc': ('body',), 'msg': 'Field required', 'input': None}",
      )
    return undefined
  }

  protected readonly spoilers: Readonly<Record<AnswerSpoiling, (answer: unknown) => unknown>> = {
    'fewer-completions': () => [],
    'more-completions': answer => [answer, answer],
    'missing-ids': answer => {
      const { output_ids: _, ...rest } = answer as Record<string, unknown>
      return rest
    },
    'strange-ids': answer => ({
      ...(answer as object),
      output_ids: (answer as { output_ids: number[] }).output_ids.map(() => 5000),
    }),
    'short-logprobs': answer => withLogprobs(answer, triples => triples.slice(1)),
    'nan-logprobs': answer => withLogprobs(answer, triples => triples.map(([, id, text]) => ['NaN', id, text])),
  }

  private modelInfo(): Reply {
    const { weight_version, ...rest } = modelInfo(this.modelPath, this.engine.marker) as Record<string, unknown>
    return { status: 200, json: this.has('no-weight-names') ? rest : { ...rest, weight_version } }
  }

  private serverInfo(): unknown {
    const { version = '0.5.23', flags = [] } = this.options
    const { marker, dtype } = this.engine
    return serverInfo({ path: this.modelPath, marker, context: this.context, version, flags, dtype })
  }

  private async generate(exchange: Exchange): Promise<Reply> {
    const body = record<unknown>(exchange.body)
    if (!body) return badBody('the body is not valid JSON')
    const { input_ids, lora_path, rid } = body
    if (!Array.isArray(input_ids)) return badValue('Either text, input_ids or input_embeds should be provided.')
    const batched = Array.isArray(input_ids[0])
    const reading = {
      context: this.context,
      deterministic: this.has('enable-deterministic-inference'),
      tokenizer: !this.has('skip-tokenizer-init'),
    }
    const read = (batched ? (input_ids as unknown[][]) : [input_ids]).map(ids => readSglangRequest(ids, body, reading))
    if (read.includes('dies')) {
      await this.stop()
      return { status: 500, text: '' }
    }
    const refused = read.find((one): one is Reply => typeof one === 'object' && !('promptIds' in one))
    if (refused) return body.stream === true ? streamed(refused) : refused
    const requests = (read as SglangRequest[]).flatMap(request => Array.from({ length: request.n }, () => request))
    const adapter = typeof lora_path === 'string' ? lora_path : undefined
    const missing = adapter === undefined ? undefined : this.missing(adapter)
    if (missing) return body.stream === true ? streamed(missing) : missing
    // With several samples the name is dropped; in a batch each prompt gets a part of it.
    const names = requests.map((_, i) => {
      if (typeof rid !== 'string' || requests[0]!.n > 1) return nextName()
      return batched ? `${rid}_${i}` : rid
    })
    return this.answer(exchange, { requests, names, adapter, single: !batched && requests.length === 1 })
  }

  private async answer(exchange: Exchange, asked: Asked): Promise<Reply> {
    const { requests, names, adapter, single } = asked
    const body = exchange.body as Record<string, unknown>
    const shape = (i: number): SglangShape => ({
      id: names[i]!,
      marker: this.engine.marker,
      logprobs: body.return_logprob === true,
      top: typeof body.top_logprobs_num === 'number' ? body.top_logprobs_num : 0,
      start: typeof body.logprob_start_len === 'number' ? body.logprob_start_len : -1,
      withText: !this.has('skip-tokenizer-init'),
      versions: this.has('no-weight-names') ? 'none' : 'marked',
    })
    const start = (look: number, onToken?: (sequence: ToySequence, i: number) => void): ToySequence[] =>
      requests.map((request, i) => {
        const told = { onToken: (sequence: ToySequence) => onToken?.(sequence, i) }
        return this.submit({ ...request, id: names[i]!, adapter, ...told }, exchange, look)
      })
    if (body.stream !== true) {
      // Nobody looks for the client of a whole answer more often.
      const sequences = start(4000)
      await Promise.all(sequences.map(({ finished }) => finished))
      const answers = sequences.map((sequence, i) => sglangWhole(sequence, shape(i)))
      return { status: 200, json: single ? answers[0] : answers }
    }
    const events = async (send: (event: unknown) => void): Promise<void> => {
      const sent = requests.map(() => 0)
      const tell = (sequence: ToySequence, i: number): void => {
        const from = this.has('incremental-streaming-output') ? sent[i]! : 0
        send({ ...sglangAnswer(sequence, shape(i), from), ...(single ? {} : { index: i }) })
        sent[i] = sequence.tokens.length
      }
      const sequences = start(30, (sequence, i) => sequence.finish === undefined && tell(sequence, i))
      await Promise.all(sequences.map((sequence, i) => sequence.finished.then(() => tell(sequence, i))))
    }
    return { events }
  }

  private missing(name: string): Reply | undefined {
    const { adapters } = this.engine
    const path = this.known.get(name)
    if (!adapters.has(name) && path !== undefined)
      adapters.set(name, { version: readToyCheckpoint(path)?.version ?? 0, path })
    if (adapters.has(name)) return undefined
    const loadedNames = [...adapters.keys()].map(one => `'${one}'`).join(', ')
    return badValue(
      `Got LoRA adapter that has never been loaded: ${name}\nAll loaded adapters: dict_keys([${loadedNames}]).`,
    )
  }

  private pause(mode: unknown): Reply {
    if (mode !== 'abort' && mode !== 'retract' && mode !== 'in_place') {
      const told = `{'type': 'literal_error', 'msg': "Input should be 'abort', 'retract' or 'in_place'", 'input': '${mode}'}`
      return badBody(`2 validation errors:\n  ${told}`)
    }
    this.engine.pause(mode === 'retract' ? 'recompute' : mode === 'in_place' ? 'keep' : 'abort')
    return { status: 200, json: { message: 'Generation paused successfully.', status: 'ok' } }
  }

  private async update(body: Readonly<Record<string, unknown>>): Promise<Reply> {
    const { model_path, weight_version, flush_cache, abort_all_requests } = body
    if (weight_version !== undefined && weight_version !== null && typeof weight_version !== 'string')
      return badBody(
        `2 validation errors:\n  {'type': 'string_type', 'msg': 'Input should be a valid string', 'input': ${weight_version}}`,
      )
    const told = (status: number, message: string): Reply => ({
      status,
      json: { success: status === 200, message, num_paused_requests: 0 },
    })
    const checkpoint = readToyCheckpoint(String(model_path))
    if (!checkpoint)
      return told(400, `Failed to get weights iterator: Cannot find any model weights with \`${model_path}\`.`)
    if (abort_all_requests === true) this.engine.abort(() => true)
    while (this.engine.running > 0 && !this.engine.paused) await delay(1)
    const kept = this.engine.keepsStates
    this.engine.weights = loaded(checkpoint, this.engine.weights)
    this.modelPath = String(model_path)
    if (weight_version) this.engine.marker = weight_version as string
    if (flush_cache === false) return told(200, 'Succeeded to update model weights.')
    if (kept) return told(400, 'Cache flush failed after updating weights.')
    this.engine.flush()
    return told(
      200,
      `Succeeded to update model weights.${weight_version ? ` Weight version updated to ${weight_version}.` : ''}`,
    )
  }

  private release({ tags }: Readonly<Record<string, unknown>>): Reply {
    this.engine.flush()
    if (!this.has('enable-memory-saver')) return { status: 200, json: null }
    const asked = (tags as string[] | undefined) ?? ['weights', 'kv_cache']
    // Nobody keeps a copy of weights unless told to: what comes back is whatever was in that memory.
    if (asked.includes('weights') && !this.has('enable-weights-cpu-backup'))
      this.engine.weights = { layers: -1, head: -1 }
    this.engine.setAsleep(true)
    return { status: 200, json: null }
  }

  private adapterReply(error_message: string, withAdapters = true): Reply {
    const loaded_adapters = Object.fromEntries([...this.engine.adapters].map(([name, { path }]) => [name, path]))
    const success = error_message === ''
    return {
      status: success ? 200 : 400,
      json: {
        rid: null,
        http_worker_ipc: null,
        success,
        error_message,
        loaded_adapters: withAdapters ? loaded_adapters : null,
      },
    }
  }

  private load({ lora_name, lora_path }: Readonly<Record<string, unknown>>): Reply {
    const [name, path] = [String(lora_name), String(lora_path)]
    if (this.has('disable-lora')) return badField('LoRA is not enabled. Please set `--enable-lora` to enable LoRA.')
    if (this.engine.adapters.has(name))
      return this.adapterReply(`Failed to load LoRA adapter ${name} because it is already loaded`)
    const checkpoint = readToyCheckpoint(path)
    if (!checkpoint) return this.adapterReply(`Repo id must use alphanumeric chars: '${path}'.`)
    this.engine.adapters.set(name, { version: checkpoint.version, path })
    this.known.set(name, path)
    return this.adapterReply('')
  }

  private unload(name: string): Reply {
    if (!this.known.has(name))
      return this.adapterReply(`LoRA with name ${name} does not exist. Loaded LoRAs: odict_keys([])`, false)
    this.engine.adapters.delete(name)
    this.engine.flush()
    return this.adapterReply('')
  }

  override async restart(): Promise<void> {
    this.known.clear()
    this.modelPath = '/models/toy'
    await super.restart()
  }
}

interface Asked {
  requests: readonly SglangRequest[]
  names: readonly string[]
  adapter: string | undefined
  single: boolean
}

/** Bad values are told inside the stream; unknown and ill-typed fields before it. */
function streamed(refusal: Reply): Reply {
  if (!('json' in refusal)) return refusal
  const { error } = refusal.json as { error?: unknown }
  if (typeof error !== 'object' || error === null) return refusal
  const told = { ...error, type: 'invalid_request_error', code: refusal.status, retryable: false }
  return { events: async send => send({ error: told }) }
}

function withLogprobs(answer: unknown, change: (triples: unknown[][]) => unknown[][]): unknown {
  const { meta_info, ...rest } = answer as { meta_info: { output_token_logprobs: unknown[][] } }
  return { ...rest, meta_info: { ...meta_info, output_token_logprobs: change(meta_info.output_token_logprobs) } }
}
