/** Finds out what an SGLang server is and can do. */
import type { VisionConfig } from '../../decoder/index.js'
import {
  asArray,
  asObject,
  callServer,
  type InspectedServer,
  type ServerConnection,
  type ServerFacts,
  stepError,
} from '../remote/dialect.js'
import { EngineError } from '../remote/errors.js'
import { parseJson } from '../remote/parse-json.js'
import type { AudioConfig } from '../remote/sent-media.js'
import { audioOf, mediaOf } from './probe-media.js'

type Fields = Readonly<Record<string, unknown>>

/** The oldest version whose answers have token ids and whose servers can be paused. */
const oldest = '0.4.9'

/** `control` is unknown: finding it out would change the server. */
export async function inspect(server: ServerConnection): Promise<InspectedServer> {
  const { version } = await serverInfo(server)
  await checkModel(server)
  const software = typeof version === 'string' ? version : 'of an unknown version'
  return { software, control: undefined, keepsTiedHead: false }
}

interface ProbeOptions {
  readonly vision: VisionConfig | undefined
  readonly audio: AudioConfig | undefined
}

export async function probe(server: ServerConnection, { vision, audio }: ProbeOptions): Promise<ServerFacts> {
  const info = await serverInfo(server)
  const software = typeof info.version === 'string' ? info.version : 'of an unknown version'
  await checkModel(server)
  // An earlier run may have left the server paused: requests would wait forever.
  const control = await continueGeneration(server)
  const { longest, prompt } = await lengths(server, info)
  const { meaning, marksVersions } = await meaningOfLogprobs(server, software)
  const tokenizer = info.skip_tokenizer_init !== true
  const grammar = tokenizer && typeof info.grammar_backend === 'string' && info.grammar_backend !== 'none'
  return {
    software,
    // An update changes this name; no request needs it.
    model: typeof info.served_model_name === 'string' ? info.served_model_name : 'default',
    maxLength: longest,
    maxPromptLength: prompt,
    logprobs: meaning,
    // Up to the vocabulary size, which is checked before: a larger number ends the server.
    topLogprobs: Number.MAX_SAFE_INTEGER,
    control,
    marksVersions,
    seeds: info.enable_deterministic_inference === true ? 'position' : 'request',
    sleep: info.enable_memory_saver === true,
    adapters: info.enable_lora === true,
    structured: grammar ? ['regex', 'json-schema', 'ebnf'] : [],
    structuredNeeds: 'a server with a tokenizer and a --grammar-backend, such as xgrammar',
    ...(vision ? { ...(await mediaOf(server, vision)), imageId: vision.tokens.image } : { media: [] }),
    ...(audio ? { audio: await audioOf(server, audio) } : {}),
    tokenizer,
    incremental: info.incremental_streaming_output === true,
  }
}

export const serverInfo = (server: ServerConnection): Promise<Fields> => ask(server, 'server_info')
export const modelInfo = (server: ServerConnection): Promise<Fields> => ask(server, 'model_info')

/** Older servers have another name for it. */
async function ask(server: ServerConnection, name: 'server_info' | 'model_info'): Promise<Fields> {
  let answer = await server.request('GET', `/${name}`)
  if (answer.status === 404) answer = await server.request('GET', `/get_${name}`)
  if (answer.status !== 200) throw stepError(server, 'asking what it is', answer.status, answer.text)
  return asObject(await parseJson(answer.text), name)
}

async function checkModel(server: ServerConnection): Promise<void> {
  const { is_generation } = await modelInfo(server)
  if (is_generation === false)
    throw new EngineError(`${server.url}: the server was started for embeddings or rewards and does not generate`)
}

/** Control routes may need another key, which `/generate` refuses. */
async function continueGeneration(server: ServerConnection): Promise<ServerFacts['control']> {
  const { status } = await server.request('POST', '/continue_generation', { body: {} })
  if (status === 404) return { missing: `pausing (it needs SGLang ${oldest} or later)` }
  if (status !== 401 && status !== 403) return 'full'
  return {
    missing: 'permission to control it (start it without --admin-api-key, or with the same key as --api-key)',
  }
}

/** A context of 512 allows prompts of 505 and 510 tokens in all. A smaller KV pool counts instead of the context. */
async function lengths(server: ServerConnection, info: Fields): Promise<{ longest: number; prompt: number }> {
  const { max_req_input_len } = info
  if (typeof max_req_input_len === 'number') return { longest: max_req_input_len + 4, prompt: max_req_input_len - 1 }
  const call = { step: 'asking for its models', method: 'GET', path: '/v1/models' } as const
  const { data } = asObject(await callServer(server, call), 'the list of models')
  const { max_model_len } = asObject(asArray(data, 'the list of models')[0], 'a model')
  if (typeof max_model_len !== 'number')
    throw new EngineError(`${server.url}: the server does not report its context length`)
  return { longest: max_model_len - 2, prompt: max_model_len - 7 }
}

/**
 * Compares the likeliest token's log-probability at temperatures 1 and 4: equal where the server reports them before temperature
 * (`SGLANG_RETURN_ORIGINAL_LOGPROB`). Not with `top_k: 1`: SGLang takes that as greedy and ignores the temperature.
 */
async function meaningOfLogprobs(
  server: ServerConnection,
  software: string,
): Promise<{ meaning: 'raw' | 'scaled'; marksVersions: boolean }> {
  let marksVersions = false
  for (let first = 1; first <= 5; first++) {
    const [plain, hot] = [await likeliest(server, first, 1), await likeliest(server, first, 4)]
    if (plain.logprob === undefined || hot.logprob === undefined)
      throw new EngineError(`${server.url}: the answers of SGLang ${software} have no token ids or log-probabilities`, {
        remedy: `Use SGLang ${oldest} or later.`,
      })
    marksVersions = plain.marksVersions
    // An almost certain token stays so at any temperature.
    if (plain.logprob > -1e-3) continue
    return { meaning: Math.abs(plain.logprob - hot.logprob) < 1e-3 ? 'raw' : 'scaled', marksVersions }
  }
  return { meaning: 'scaled', marksVersions }
}

async function likeliest(
  server: ServerConnection,
  first: number,
  temperature: number,
): Promise<{ logprob: number | undefined; marksVersions: boolean }> {
  const body = {
    input_ids: [first, first + 1, first + 2],
    sampling_params: {
      temperature,
      top_k: -1,
      top_p: 1,
      min_p: 0,
      repetition_penalty: 1,
      max_new_tokens: 1,
      ignore_eos: true,
    },
    return_logprob: true,
    top_logprobs_num: 1,
  }
  const call = { step: 'asking for a token', path: '/generate', body, timeoutMs: 120_000 }
  const { output_ids, meta_info } = asObject(await callServer(server, call), 'the answer')
  const { output_top_logprobs, weight_versions } = asObject(meta_info, 'meta_info')
  const top = Array.isArray(output_top_logprobs) ? output_top_logprobs[0]?.[0]?.[0] : undefined
  return {
    logprob: Array.isArray(output_ids) && typeof top === 'number' ? top : undefined,
    marksVersions: Array.isArray(weight_versions),
  }
}
