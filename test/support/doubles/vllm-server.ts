/** vLLM 0.32 as its clients see it, over the toy model. Its answers are compared with recorded ones. */
import type { AnswerSpoiling } from './engine-faults.js'
import { EngineServer, type Exchange, nextName, type Reply, type Route } from './engine-server.js'
import { loaded, readToyCheckpoint } from './toy-checkpoint.js'
import { ToyEngine, type ToySequence } from './toy-engine.js'
import { completionAnswer, completionEvent, completionUsage, tokensAnswer, tokensEvent } from './vllm-answers.js'
import { type Fields, readVllmRequest, record, vllmError } from './vllm-requests.js'

export interface VllmServerOptions {
  readonly version?: string
  readonly maxLength?: number
  /** `--logprobs-mode`. */
  readonly logprobs?: 'raw' | 'processed'
  /**
   * What it was started with: `--enable-scale-out`, `VLLM_SERVER_DEV_MODE`, `--enable-lora`; and names of weights, which versions
   * before 0.27 have not. Default: all of them.
   */
  readonly without?: readonly ('scale-out' | 'dev-mode' | 'lora' | 'weight-names')[]
  /** Its output head is its embedding: a reload forgets it. */
  readonly tiedEmbeddings?: boolean
  readonly apiKey?: string
  /** The version of the weights it starts with. */
  readonly policyVersion?: number
}

const devRoutes =
  /^\/(pause|resume|is_paused|sleep|wake_up|is_sleeping|collective_rpc|reset_prefix_cache|abort_requests|update_weight_version|weight_info|get_world_size|server_info)$/

export class VllmServer extends EngineServer {
  private readonly maxLength: number
  private readonly modelPath = '/models/toy'

  constructor(private readonly options: VllmServerOptions = {}) {
    const { maxLength = 256, logprobs = 'raw', policyVersion = 0 } = options
    super(() => new ToyEngine({ maxLength, logprobs, randomBy: 'step', version: policyVersion }))
    this.maxLength = maxLength
  }

  protected readonly generating = ['/v1/completions', '/inference/v1/generate']

  protected readonly routes: Readonly<Record<string, Route>> = {
    'GET /version': () => ({ status: 200, json: { version: this.options.version ?? '0.32.0' } }),
    'GET /health': () => ({ status: 200, text: '' }),
    'GET /metrics': () => ({
      status: 200,
      text: `# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.\n# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds ${this.startedAt}.62\n`,
    }),
    'GET /v1/models': () => this.models(),
    'POST /v1/completions': exchange => this.completions(exchange),
    'POST /inference/v1/generate': exchange => this.tokens(exchange),
    'GET /is_paused': () => ({ status: 200, json: { is_paused: this.engine.paused } }),
    'POST /pause': ({ query }) => this.pause(query),
    'POST /resume': () => {
      this.engine.resume()
      return { status: 200, json: { status: 'resumed' } }
    },
    'POST /sleep': ({ query }) => {
      this.engine.flush()
      this.engine.setAsleep(true)
      return { status: 200, json: { status: 'sleeping', level: Number(query.get('level') ?? 1) } }
    },
    'POST /wake_up': () => {
      this.engine.setAsleep(false)
      return { status: 200, json: { status: 'awake', tags: null } }
    },
    'GET /is_sleeping': () => ({ status: 200, json: { is_sleeping: this.engine.asleep } }),
    'POST /collective_rpc': ({ body }) => this.reload(record<unknown>(body) ?? {}),
    'POST /reset_prefix_cache': () => {
      // Blocks that a request holds cannot be given up.
      const success = !this.engine.keepsStates
      if (success) this.engine.flush()
      return { status: 200, json: { success } }
    },
    'POST /update_weight_version': ({ body }) => {
      this.engine.marker = String(record<unknown>(body)?.new_version)
      return { status: 200, json: { success: true, new_version: this.engine.marker } }
    },
    'GET /server_info': () => ({
      status: 200,
      json: {
        vllm_config: `model='${this.modelPath}', dtype=torch.${this.engine.dtype}, max_seq_len=${this.maxLength}, quantization=None, kv_cache_dtype=auto`,
        vllm_env: {},
        system_env: {},
      },
    }),
    'GET /weight_info': () => ({ status: 200, json: { weight_version: this.engine.marker } }),
    'GET /get_world_size': () => ({ status: 200, json: { world_size: 1 } }),
    'POST /abort_requests': ({ body }) => {
      const ids = record<unknown>(body)?.request_ids as string[] | undefined
      this.engine.abort(id => ids === undefined || ids.includes(id))
      return { status: 200, json: { status: 'aborted', aborted: ids?.length ?? 0 } }
    },
    'POST /v1/load_lora_adapter': ({ body }) => this.load(record<unknown>(body) ?? {}),
    'POST /v1/unload_lora_adapter': ({ body }) => {
      const name = String(record<unknown>(body)?.lora_name)
      return this.engine.adapters.delete(name)
        ? { status: 200, text: `Success: LoRA adapter '${name}' removed successfully.` }
        : vllmError(404, 'NotFoundError', `The lora adapter '${name}' cannot be found.`)
    },
  }

  protected guard({ path, headers }: Exchange): Reply | undefined {
    const { apiKey, without = [] } = this.options
    const guarded = path.startsWith('/v1') || path.startsWith('/inference')
    if (apiKey !== undefined && guarded && headers.authorization !== `Bearer ${apiKey}`)
      return { status: 401, json: { error: 'Unauthorized' } }
    if (without.includes('weight-names') && /^\/(weight_info|update_weight_version)$/.test(path))
      return { status: 404, json: { detail: 'Not Found' } }
    if (without.includes('dev-mode') && devRoutes.test(path)) return { status: 404, json: { detail: 'Not Found' } }
    if (without.includes('lora') && path.endsWith('lora_adapter')) return { status: 404, json: { detail: 'Not Found' } }
    if (without.includes('scale-out') && path.startsWith('/inference'))
      return vllmError(403, 'PermissionDeniedError', 'This route needs --enable-scale-out')
    return undefined
  }

  protected readonly spoilers: Readonly<Record<AnswerSpoiling, (answer: unknown) => unknown>> = {
    'fewer-completions': answer => ({ ...(answer as object), choices: [] }),
    'more-completions': answer => changed(answer, choice => [choice, { ...choice, index: 1 }]),
    'missing-ids': answer => changed(answer, ({ token_ids: _, ...choice }) => [choice]),
    'strange-ids': answer =>
      changed(answer, choice => [{ ...choice, token_ids: (choice.token_ids as number[]).map(() => 5000) }]),
    'short-logprobs': answer => changed(answer, choice => [withLogprobs(choice, values => values.slice(1))]),
    'nan-logprobs': answer => changed(answer, choice => [withLogprobs(choice, values => values.map(() => 'NaN'))]),
  }

  private models(): Reply {
    const created = Math.floor(Date.now() / 1000)
    const permission = {
      id: `modelperm-${nextName()}`,
      object: 'model_permission',
      created,
      allow_create_engine: false,
      allow_sampling: true,
      allow_logprobs: true,
      allow_search_indices: false,
      allow_view: true,
      allow_fine_tuning: false,
      organization: '*',
      group: null,
      is_blocking: false,
    }
    const model = (id: string, root: string, parent: string | null, max: number | null): object => ({
      ...{ id, object: 'model', created, owned_by: 'vllm', root, parent, max_model_len: max, permission: [permission] },
    })
    const adapters = [...this.engine.adapters].map(([name, { path }]) => model(name, path, 'tiny', null))
    const data = [model('tiny', this.modelPath, null, this.maxLength), ...adapters]
    return { status: 200, json: { object: 'list', data } }
  }

  private completions(exchange: Exchange): Promise<Reply> | Reply {
    const body = record<unknown>(exchange.body)
    if (!body) return vllmError(400, 'Bad Request', 'There was an error parsing the body')
    const request = readVllmRequest(body.prompt, body, { maxLength: this.maxLength, route: 'completions' })
    const named = this.named(body.model)
    if ('refusal' in named) return named.refusal
    if (!('promptIds' in request)) return request
    const id = `cmpl-${body.request_id ?? nextName()}`
    const shape = {
      id,
      model: named.model,
      logprobs: typeof body.logprobs === 'number' ? body.logprobs : undefined,
      tokenStrings: body.return_tokens_as_token_ids === true ? 'ids' : 'text',
      withIds: body.return_token_ids === true,
    } as const
    const usage = record<unknown>(body.stream_options)?.include_usage === true
    return this.answer(exchange, {
      ...{ request, adapter: named.adapter, streamed: body.stream === true },
      engineId: index => `${id}-0${request.n > 1 ? `_${index}` : ''}`,
      whole: sequences => completionAnswer(sequences, shape),
      event: (sequence, index, start) => completionEvent(sequence, index, start, shape),
      last: usage ? sequences => completionUsage(sequences, shape) : undefined,
    })
  }

  private tokens(exchange: Exchange): Promise<Reply> | Reply {
    const body = record<unknown>(exchange.body)
    if (!body) return vllmError(400, 'Bad Request', 'There was an error parsing the body')
    const params = record<unknown>(body.sampling_params) ?? {}
    const named = this.named(body.model)
    if ('refusal' in named) return named.refusal
    const request = readVllmRequest(body.token_ids, params, { maxLength: this.maxLength, route: 'tokens' })
    if (!('promptIds' in request)) return request
    const id = `generate-tokens-${body.request_id ?? nextName()}`
    const logprobs = typeof params.logprobs === 'number' ? params.logprobs : undefined
    const shape = { id, model: named.model, logprobs }
    return this.answer(exchange, {
      ...{ request, adapter: named.adapter, streamed: body.stream === true },
      engineId: index => (request.n > 1 ? `${index}_${id}` : id),
      whole: sequences => tokensAnswer(sequences, shape),
      event: (sequence, index, start) => tokensEvent(sequence, index, start, shape),
      last: undefined,
    })
  }

  private async answer(exchange: Exchange, asked: Asked): Promise<Reply> {
    const { request, adapter, streamed, engineId, whole, event, last } = asked
    const start = (onToken?: (sequence: ToySequence, index: number) => void): ToySequence[] =>
      Array.from({ length: request.n }, (_, index) => {
        const seed = request.seed === undefined ? undefined : request.seed + index
        const told = { onToken: (sequence: ToySequence) => onToken?.(sequence, index) }
        return this.submit({ ...request, id: engineId(index), adapter, seed, ...told }, exchange)
      })
    if (!streamed) {
      const sequences = start()
      await Promise.all(sequences.map(({ finished }) => finished))
      return { status: 200, json: whole(sequences) }
    }
    const events = async (send: (event: unknown) => void): Promise<void> => {
      const sent: number[] = Array.from({ length: request.n }, () => 0)
      const tell = (sequence: ToySequence, index: number): void => {
        send(event(sequence, index, sent[index]!))
        sent[index] = sequence.tokens.length
      }
      const sequences = start((sequence, index) => sequence.finish === undefined && tell(sequence, index))
      await Promise.all(sequences.map((sequence, index) => sequence.finished.then(() => tell(sequence, index))))
      if (last) send(last(sequences))
    }
    return { events }
  }

  private named(model: unknown): { model: string; adapter: string | undefined } | { refusal: Reply } {
    if (model === undefined || model === 'tiny') return { model: 'tiny', adapter: undefined }
    if (typeof model === 'string' && this.engine.adapters.has(model)) return { model, adapter: model }
    const aliases = ['tiny', ...this.engine.adapters.keys()].join(', ')
    const message = `The model \`${model}\` does not exist. Valid aliases: ${aliases}.`
    return { refusal: vllmError(404, 'NotFoundError', message, 'model') }
  }

  private async pause(query: URLSearchParams): Promise<Reply> {
    const mode = query.get('mode') ?? 'abort'
    if (mode !== 'abort' && mode !== 'keep' && mode !== 'wait') {
      const told = `{'type': 'literal_error', 'loc': 'query.mode', 'msg': "Input should be 'abort', 'wait' or 'keep'", 'input': '${mode}'}`
      return vllmError(400, 'Bad Request', `1 validation error:\n  ${told}`, 'query.mode')
    }
    if (mode === 'wait') while (this.engine.running > 0) await new Promise(resolve => setTimeout(resolve, 1))
    const clear = query.get('clear_cache') !== 'false'
    this.engine.pause(mode === 'keep' ? (clear ? 'recompute' : 'keep') : 'abort')
    if (clear) this.engine.flush()
    return { status: 200, json: { status: 'paused' } }
  }

  /** Caches stay as they are: whoever changes weights has to empty them. */
  private reload({ method, kwargs }: Fields): Reply {
    if (method !== 'reload_weights') return vllmError(500, 'InternalServerError', `no method ${method}`)
    const path = String(record<unknown>(kwargs)?.weights_path)
    const checkpoint = readToyCheckpoint(path)
    if (checkpoint === undefined) {
      this.engine.state = 'lost'
      const why = `Call to collective_rpc method failed: Worker failed with error 'Cannot find any model weights with \`${path}\`', please check the stack trace above for the root cause`
      return vllmError(500, 'InternalServerError', why)
    }
    const tied = this.options.tiedEmbeddings ? ({ lacks: 'head' } as const) : {}
    this.engine.weights = loaded({ ...checkpoint, ...tied }, this.engine.weights)
    this.engine.state = 'sound'
    return { status: 200, json: { results: [null] } }
  }

  private load({ lora_name, lora_path }: Fields): Reply {
    const [name, path] = [String(lora_name), String(lora_path)]
    const { adapters } = this.engine
    if (adapters.has(name)) {
      const message = `The lora adapter '${name}' has already been loaded. If you want to load the adapter in place, set 'load_inplace' to True.`
      return vllmError(400, 'InvalidUserInput', message)
    }
    const checkpoint = readToyCheckpoint(path)
    if (checkpoint === undefined)
      return vllmError(404, 'NotFoundError', `Loading lora ${name} failed: No adapter found for ${path}`)
    adapters.set(name, { version: checkpoint.version, path })
    return { status: 200, text: `Success: LoRA adapter '${name}' added successfully.` }
  }
}

interface Asked {
  request: Exclude<ReturnType<typeof readVllmRequest>, Reply>
  adapter: string | undefined
  streamed: boolean
  engineId: (index: number) => string
  whole: (sequences: readonly ToySequence[]) => unknown
  event: (sequence: ToySequence, index: number, start: number) => unknown
  last: ((sequences: readonly ToySequence[]) => unknown) | undefined
}

type Choice = Readonly<Record<string, unknown>>

function changed(answer: unknown, change: (choice: Choice) => Choice[]): unknown {
  const { choices, ...rest } = answer as { choices: Choice[] }
  return { ...rest, choices: choices.flatMap(change) }
}

/** Both routes' forms of log-probabilities. */
function withLogprobs(choice: Choice, change: (values: unknown[]) => unknown[]): Choice {
  const logprobs = choice.logprobs as { content?: { logprob: number }[]; token_logprobs?: number[] } | null
  if (logprobs?.content) {
    const { content } = logprobs
    const values = change(content.map(({ logprob }) => logprob))
    const rest = content.slice(content.length - values.length)
    return { ...choice, logprobs: { content: rest.map((entry, i) => ({ ...entry, logprob: values[i] })) } }
  }
  return { ...choice, logprobs: { ...logprobs, token_logprobs: change(logprobs?.token_logprobs ?? []) } }
}
