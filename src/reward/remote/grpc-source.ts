/** Reward models behind the Open Inference Protocol over gRPC. */
import { randomUUID } from 'node:crypto'
import { Client, credentials, Metadata, type MethodDefinition, type ServiceError, status } from '@grpc/grpc-js'
import { redactor, tlsProblem } from '../../http/index.js'
import { RewardConfigError, SourceError } from '../errors.js'
import { defaultLimits, type LimitOptions, type RewardSource, resolveLimits } from '../source.js'
import { checkApiKey, elsewhere, serversFault, type TlsOptions } from './http-source.js'
import { buildInfer, readInfer, type Signature, signatureFrom } from './infer-messages.js'
import { type InferRequest, type InferResponse, inferenceService, type ModelMetadata } from './open-inference.js'
import { Replicas } from './replicas.js'

export interface GrpcRewardOptions extends LimitOptions {
  readonly name: string
  /** `grpc://host:port`, or `grpcs://host:port` over TLS; several equal servers share the requests. */
  readonly url: string | readonly string[]
  /** The model's name on the server. Default: the URL's path. */
  readonly model?: string
  readonly modelVersion?: string
  /** How tensors are sent. Default `raw`; answers may have either form. */
  readonly contents?: 'raw' | 'typed'
  /** Images and videos of samples. `omit`: the server judges the text alone. Default `send`: in the tensors IMAGES and VIDEOS. */
  readonly media?: 'send' | 'omit'
  /** Sent as the metadata `authorization: Bearer`. Never shown. */
  readonly apiKey?: string
  readonly tls?: TlsOptions
  /** Larger answers are refused. Default 64 MiB. */
  readonly maxAnswerBytes?: number
}

interface Server {
  readonly where: string
  readonly model: string
  readonly client: Client
  /** Asked for once; a server without metadata gets the default tensors. */
  signature: Promise<Signature> | undefined
}

/**
 * A reward model behind `ModelInfer` as a source. Its metadata tells its tensors: TEXT, PROMPT, RESPONSE, LABEL and REFERENCE are texts,
 * INPUT_IDS and ATTENTION_MASK are padded ids, IMAGES and VIDEOS lists of PNG files in JSON; the output is REWARD, or its only output.
 *
 * @example
 * const quality = grpcReward({ name: 'quality', url: 'grpcs://rm:8001/quality' })
 */
export function grpcReward(options: GrpcRewardOptions): RewardSource {
  const { name, apiKey, modelVersion = '', contents = 'raw', media = 'send', maxAnswerBytes = 64 << 20 } = options
  const servers = (typeof options.url === 'string' ? [options.url] : options.url).map(url =>
    connect(url, options, maxAnswerBytes),
  )
  if (servers.length === 0) throw new RewardConfigError(`reward "${name}": url is an empty list`)
  checkApiKey(name, apiKey)
  const hide = redactor([apiKey])
  const metadata = new Metadata()
  if (apiKey !== undefined) metadata.set('authorization', `Bearer ${apiKey}`)
  const replicas = new Replicas(servers)

  const call = async <Q, A>(server: Server, method: string, request: Q, signal: AbortSignal): Promise<A> => {
    try {
      return await unary<Q, A>(server.client, method, request, metadata, signal)
    } catch (error) {
      throw callError(server, error as ServiceError, hide)
    }
  }
  const signatureOf = (server: Server, signal: AbortSignal): Promise<Signature> => {
    const asked = call<object, ModelMetadata>(
      server,
      'ModelMetadata',
      { name: server.model, version: modelVersion },
      signal,
    )
    const untold = (error: unknown) => {
      if (error instanceof SourceError && error.cause === 'unimplemented') return undefined
      throw error
    }
    const found = asked.catch(untold).then(signatureFrom)
    // After a failure, the next request asks again.
    found.catch(() => {
      server.signature = undefined
    })
    server.signature = found
    return found
  }

  return {
    name,
    kind: 'remote',
    limits: resolveLimits(name, defaultLimits.remote, options),
    async score(inputs, { signal }) {
      const ask = async (server: Server) => {
        const signature = await (server.signature ?? signatureOf(server, signal))
        const request = await buildInfer(inputs, signature, {
          model: server.model,
          version: modelVersion,
          id: randomUUID(),
          contents,
          media,
        })
        const answer = await call<InferRequest, InferResponse>(server, 'ModelInfer', request, signal)
        return readInfer(answer, request, signature, inputs.length)
      }
      try {
        return await replicas.use(ask, serversFault)
      } catch (error) {
        throw elsewhere(error, replicas, servers.length)
      }
    },
    close: async () => {
      for (const { client } of servers) client.close()
    },
  }
}

function connect(text: string, { name, model, tls }: GrpcRewardOptions, maxAnswerBytes: number): Server {
  const match = /^(grpcs?):\/\/([^/@?#]+)(?:\/([^?#]*))?$/.exec(text)
  if (!match)
    throw new RewardConfigError(
      `reward "${name}": url: expected grpc://host:port or grpcs://host:port, and maybe /model`,
    )
  const [, scheme, target, path] = match
  const served = model ?? (path ? decodeURIComponent(path) : undefined)
  if (served === undefined)
    throw new RewardConfigError(`reward "${name}": no model; write it after the address (${scheme}://${target}/MODEL)`)
  const { ca, key, cert } = tls ?? {}
  const bytes = (pem: string | Buffer | undefined) => (pem === undefined ? null : Buffer.from(pem))
  const secure = scheme === 'grpcs'
  const channel = secure ? credentials.createSsl(bytes(ca), bytes(key), bytes(cert)) : credentials.createInsecure()
  const client = new Client(target!, channel, {
    // The reward engine retries: it knows the deadline and the other replicas.
    'grpc.enable_retries': 0,
    'grpc.max_receive_message_length': maxAnswerBytes,
    'grpc.max_send_message_length': -1,
    'grpc.initial_reconnect_backoff_ms': 200,
    'grpc.max_reconnect_backoff_ms': 5_000,
  })
  return { where: `${scheme}://${target}`, model: served, client, signature: undefined }
}

function unary<Q, A>(client: Client, name: string, request: Q, metadata: Metadata, signal: AbortSignal): Promise<A> {
  const method = inferenceService[name] as MethodDefinition<Q, A>
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadata,
      (error, answer) => {
        signal.removeEventListener('abort', cancel)
        if (error) reject(error)
        else resolve(answer as A)
      },
    )
    const cancel = () => call.cancel()
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel)
  })
}

function callError(server: Server, error: ServiceError, hide: (text: string) => string): SourceError {
  const named = status[error.code] ?? String(error.code)
  const message = `${server.where}, model ${server.model}: ${named}: ${hide(error.details || error.message)}`
  const retryable = { repeat: 'retryable' } as const
  switch (error.code) {
    case status.UNAVAILABLE:
    case status.CANCELLED: {
      const problem = tlsProblem('', message)
      if (!problem) return new SourceError('unreachable', message, retryable)
      return new SourceError('unreachable', `${server.where}: ${problem.what}. ${problem.remedy}`)
    }
    case status.DEADLINE_EXCEEDED:
      return new SourceError('timeout', message, retryable)
    case status.RESOURCE_EXHAUSTED:
      // A busy server has the same code as an answer above the size limit, which a retry cannot help.
      return /larger than max/.test(message)
        ? new SourceError('protocol', message)
        : new SourceError('overloaded', message, retryable)
    case status.INTERNAL:
      return /parsing error|deserializ/i.test(message)
        ? new SourceError('protocol', message, retryable)
        : new SourceError('server-error', message, retryable)
    case status.ABORTED:
    case status.UNKNOWN:
    case status.DATA_LOSS:
      return new SourceError('server-error', message, retryable)
    case status.UNIMPLEMENTED:
      return new SourceError('refused', message, { cause: 'unimplemented' })
    default:
      return new SourceError('refused', message)
  }
}
