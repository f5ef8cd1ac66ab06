/** MLflow's REST API, as far as a run needs it. */
import { type ErrorCode, InputError, WhetstoneError } from '../../errors/index.js'
import { isApiKey, parseServerUrl, redactor, shownUrl, tlsProblem } from '../../http/index.js'

/** Milliseconds. A slow server gets its time: nothing waits for it. */
const requestTimeout = 60_000

export interface MlflowSettings {
  readonly url: URL
  readonly authorization: string | undefined
  readonly experiment: string
  /** Removes secrets from messages. */
  readonly redact: (text: string) => string
}

/** The settings that MLflow's own clients take from the environment. */
export function mlflowSettings(env: NodeJS.ProcessEnv): MlflowSettings {
  const given = env.MLFLOW_TRACKING_URI
  if (!given)
    throw new InputError('loggers: mlflow needs the address of a server in MLFLOW_TRACKING_URI', {
      remedy: 'For example: export MLFLOW_TRACKING_URI=http://127.0.0.1:5000 (`mlflow server` starts one).',
    })
  const server = parseServerUrl(given)
  if (!server)
    throw new InputError('loggers: MLFLOW_TRACKING_URI: expected the http:// or https:// address of an MLflow server', {
      remedy: 'Files and databases of MLflow are written by a server: start `mlflow server` and give its address.',
    })
  const { MLFLOW_TRACKING_TOKEN: token, MLFLOW_TRACKING_USERNAME: user, MLFLOW_TRACKING_PASSWORD: password } = env
  if (token && !isApiKey(token))
    throw new InputError('loggers: MLFLOW_TRACKING_TOKEN has characters that a header cannot hold')
  const basic = user === undefined ? undefined : Buffer.from(`${user}:${password ?? ''}`).toString('base64')
  const named = basic === undefined ? server.authorization : `Basic ${basic}`
  return {
    url: server.url,
    authorization: token ? `Bearer ${token}` : named,
    experiment: env.MLFLOW_EXPERIMENT_NAME || 'Default',
    redact: redactor([token, password, basic, ...server.secrets]),
  }
}

/** The server refused, or could not be reached. */
export class MlflowError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_MLFLOW'
  override name = 'MlflowError'
  /** HTTP's; undefined where there was no answer. */
  readonly status: number | undefined
  /** MLflow's, such as RESOURCE_DOES_NOT_EXIST. */
  readonly reason: string | undefined

  constructor(message: string, options: ErrorOptions & { status?: number; reason?: string | undefined } = {}) {
    super(message, options)
    this.status = options.status
    this.reason = options.reason
  }
}

type Body = Readonly<Record<string, unknown>>

/** One server. */
export class MlflowClient {
  readonly #settings: MlflowSettings

  constructor(settings: MlflowSettings) {
    this.#settings = settings
  }

  get(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Body> {
    return this.#json(`api/2.0/mlflow/${path}?${new URLSearchParams(query)}`, { method: 'GET' }, signal)
  }

  post(path: string, body: Body, signal: AbortSignal): Promise<Body> {
    const headers = { 'content-type': 'application/json' }
    return this.#json(`api/2.0/mlflow/${path}`, { method: 'POST', headers, body: JSON.stringify(body) }, signal)
  }

  /** Through the server, which keeps it where it keeps artifacts. */
  async upload(path: string, content: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<void> {
    const place = path.split('/').map(encodeURIComponent).join('/')
    const headers = { 'content-type': 'application/octet-stream' }
    await this.#request(
      `api/2.0/mlflow-artifacts/artifacts/${place}`,
      { method: 'PUT', headers, body: content },
      signal,
    )
  }

  async #json(path: string, init: RequestInit, signal: AbortSignal): Promise<Body> {
    const text = await this.#request(path, init, signal)
    try {
      return JSON.parse(text) as Body
    } catch (cause) {
      throw new MlflowError(`${this.#shown}: the answer is not JSON; is it an MLflow server?`, { cause })
    }
  }

  async #request(path: string, init: RequestInit, signal: AbortSignal): Promise<string> {
    const { url, authorization, redact } = this.#settings
    const target = new URL(path, url.href.endsWith('/') ? url : `${url.href}/`)
    const headers = { ...init.headers, ...(authorization === undefined ? {} : { authorization }) }
    const both = AbortSignal.any([signal, AbortSignal.timeout(requestTimeout)])
    const answer = await fetch(target, { ...init, headers, signal: both }).catch((cause: unknown) => {
      throw new MlflowError(`${this.#shown}: ${redact(unreachable(cause))}`, { cause })
    })
    const text = await answer.text().catch((cause: unknown) => {
      throw new MlflowError(`${this.#shown}: the answer broke off`, { cause })
    })
    if (answer.ok) return text
    const { error_code: reason, message } = refusal(text)
    const shown = redact(message ?? (text.trim().split('\n')[0] || 'no message')).slice(0, 300)
    throw new MlflowError(`${this.#shown} answered ${answer.status}: ${shown}`, { status: answer.status, reason })
  }

  get #shown(): string {
    return shownUrl(this.#settings.url)
  }
}

function refusal(text: string): { error_code?: string; message?: string } {
  try {
    return (JSON.parse(text) ?? {}) as { error_code?: string; message?: string }
  } catch {
    return {}
  }
}

function unreachable(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  if (cause.name === 'TimeoutError') return `no answer in ${requestTimeout / 1000} s`
  const { code = '', message = cause.message } = (cause.cause ?? {}) as { code?: string; message?: string }
  const tls = tlsProblem(code, message)
  if (tls) return `${tls.what}. ${tls.remedy}`
  if (code === 'ECONNREFUSED') return 'nothing listens there'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the host name is not known'
  return message || code
}
