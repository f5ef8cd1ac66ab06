/** Finds out what a vLLM server is and can do. */
import type { VisionConfig } from '../../decoder/index.js'
import type { LogprobMeaning } from '../logprob-meaning.js'
import {
  asArray,
  asObject,
  callServer,
  type GenerationAttempt,
  type InspectedServer,
  type ServerConnection,
  type ServerFacts,
  stepError,
} from '../remote/dialect.js'
import { EngineError, ProtocolError } from '../remote/errors.js'
import type { AudioConfig } from '../remote/sent-media.js'
import { resolveSampling } from '../sampling.js'
import { completionsAnswer, tokensAnswer } from './answers.js'
import { generationBody } from './generation.js'
import { audioOf, mediaOf } from './probe-media.js'

/** vLLM's highest temperature. */
const maxTemperature = 2
/** vLLM's default for --max-logprobs, and the most that is asked for. */
const usualAlternatives = 20
const mostAlternatives = 256
const probeMs = 60_000

type Route = 'tokens' | 'completions'

export async function inspect(server: ServerConnection, wanted: string | undefined): Promise<InspectedServer> {
  const software = await versionOf(server)
  const { isOurs } = await modelOf(server, wanted)
  return {
    software,
    control: controlOf(await isThere(server, '/is_paused'), isOurs),
    keepsTiedHead: !isOurs && keepsTiedHead(software),
  }
}

interface ProbeOptions {
  readonly wanted: string | undefined
  readonly vision: VisionConfig | undefined
  readonly audio: AudioConfig | undefined
}

export async function probe(server: ServerConnection, { wanted, vision, audio }: ProbeOptions): Promise<ServerFacts> {
  const software = await versionOf(server)
  const { model, maxLength, isOurs } = await modelOf(server, wanted)
  const hasControl = await isThere(server, '/is_paused')
  if (hasControl) await letGo(server)
  const { route, marks } = await routeOf(server, model, software)
  const namesWeights = hasControl && (await isThere(server, '/weight_info'))
  return {
    software,
    model,
    maxLength,
    maxPromptLength: maxLength - 1,
    logprobs: await meaningOf(server, model, route),
    topLogprobs: await alternativesOf(server, model, route),
    maxTemperature,
    control: controlOf(hasControl, isOurs),
    marksVersions: marks && namesWeights,
    seeds: isOurs ? 'position' : 'request',
    sleep: hasControl && (await isThere(server, '/is_sleeping')),
    adapters: hasControl && (await takesAdapters(server)),
    keepsTiedHead: !isOurs && keepsTiedHead(software),
    ...(isOurs ? { structured: [] } : structuredOf(software)),
    ...(vision ? await mediaOf(server, { model, route, vision, isOurs }) : { media: [] }),
    ...(audio ? { audio: await audioOf(server, { model, route, audio }) } : {}),
    route,
    namesWeights,
  }
}

async function isThere(server: ServerConnection, path: string): Promise<boolean> {
  const { status } = await server.request('GET', path, { timeoutMs: probeMs })
  return status === 200
}

function controlOf(hasControl: boolean, isOurs: boolean): ServerFacts['control'] {
  if (hasControl) return 'full'
  const ours = 'the server was started without --control'
  const theirs = 'the server was started without VLLM_SERVER_DEV_MODE=1 in its environment (vLLM 0.12 or later)'
  return { missing: isOurs ? ours : theirs }
}

/** Versions that report success for a checkpoint with tied embeddings, but do not load its output head. */
export const keepsTiedHead = (software: string): boolean => /^0\.32\b/.test(software)

async function versionOf(server: ServerConnection): Promise<string> {
  const { status, text } = await server.request('GET', '/version', { timeoutMs: probeMs })
  if (status === 401 || status === 403) throw stepError(server, 'asking for its version', status, text)
  const found = /"version"\s*:\s*"([^"]+)"/.exec(text)
  return status === 200 && found ? found[1]! : 'of an unknown version'
}

async function modelOf(
  server: ServerConnection,
  wanted: string | undefined,
): Promise<{ model: string; maxLength: number; isOurs: boolean }> {
  const step = 'asking for its models'
  const answer = await callServer(server, { step, method: 'GET', path: '/v1/models', timeoutMs: probeMs })
  const models = asArray(asObject(answer, 'its models').data, 'its models').map(one => asObject(one, 'a model'))
  const found = models.find(({ id, parent }) => (wanted === undefined ? !parent : id === wanted))
  if (!found || typeof found.id !== 'string')
    throw new EngineError(
      `${server.url}: the server has no model ${wanted ?? ''}; it has ${models.map(({ id }) => id).join(', ') || 'none'}`,
    )
  const { max_model_len: maxLength } = found
  if (typeof maxLength !== 'number' || !Number.isSafeInteger(maxLength) || maxLength < 2)
    throw new EngineError(`${server.url}: the server does not report the context length of its model (max_model_len)`)
  return { model: found.id, maxLength, isOurs: found.owned_by === 'whetstone' }
}

/** Wakes and resumes a server that an earlier run left asleep or paused: it would not answer. */
async function letGo(server: ServerConnection): Promise<void> {
  const says = async (path: string, name: string): Promise<boolean> => {
    const { status, text } = await server.request('GET', path, { timeoutMs: probeMs })
    return status === 200 && new RegExp(`"${name}"\\s*:\\s*true`).test(text)
  }
  if (await says('/is_sleeping', 'is_sleeping')) await callServer(server, { step: 'waking up', path: '/wake_up' })
  if (await says('/is_paused', 'is_paused')) await callServer(server, { step: 'resuming', path: '/resume' })
}

interface Question {
  readonly prompt: readonly number[]
  readonly temperature: number
  readonly topK: number
  readonly topLogprobs?: number
}

function attemptFor({ prompt, temperature, topK, topLogprobs }: Question): GenerationAttempt {
  const sampling = {
    seed: 0,
    maxNewTokens: 1,
    temperature,
    topK,
    ignoreEos: true,
    ...(topLogprobs === undefined ? {} : { topLogprobs }),
  }
  return {
    id: `whetstone-probe-${process.pid}-${Math.random().toString(36).slice(2)}`,
    ids: Int32Array.from(prompt),
    idsJson: JSON.stringify(prompt),
    maxNewTokens: 1,
    minNewTokens: 0,
    temperature,
    seed: 0,
    sampling: resolveSampling(sampling, { vocabSize: Number.MAX_SAFE_INTEGER, n: 1 }),
    adapter: undefined,
    promptLogprobs: undefined,
    transport: 'whole',
  }
}

function ask(server: ServerConnection, model: string, route: Route, question: Question) {
  const { path, body } = generationBody(attemptFor(question), { model, route } as unknown as ServerFacts)
  return server.request('POST', path, { body: JSON.parse(body), timeoutMs: probeMs })
}

const first: Question = { prompt: [1], temperature: 0, topK: -1 }

/** The tokens route where its answers have token ids; on older servers they do not. */
async function routeOf(
  server: ServerConnection,
  model: string,
  software: string,
): Promise<{ route: Route; marks: boolean }> {
  const tokens = await ask(server, model, 'tokens', first)
  if (tokens.status === 200) {
    try {
      const { versions } = tokensAnswer(JSON.parse(tokens.text), attemptFor(first))
      return { route: 'tokens', marks: versions !== undefined }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
    }
  }
  const plain = await ask(server, model, 'completions', first)
  if (plain.status !== 200) throw stepError(server, 'asking for a first token', plain.status, plain.text)
  try {
    completionsAnswer(JSON.parse(plain.text), attemptFor(first))
  } catch (error) {
    throw new EngineError(
      `${server.url}: ${(error as Error).message}. The server is ${software}; vLLM 0.10.2 or later is needed.`,
      { cause: error },
    )
  }
  return { route: 'completions', marks: false }
}

/**
 * Finds out what its log-probabilities mean. With `top_k: 1` only one token can be drawn: its processed log-probability is 0, and its raw
 * one is the same as without `top_k`.
 */
async function meaningOf(server: ServerConnection, model: string, route: Route): Promise<LogprobMeaning> {
  const logprobOf = async (question: Question): Promise<number> => {
    const { status, text } = await ask(server, model, route, question)
    if (status !== 200) throw stepError(server, 'asking what its log-probabilities mean', status, text)
    const attempt = attemptFor(question)
    const read = route === 'tokens' ? tokensAnswer : completionsAnswer
    return read(JSON.parse(text), attempt).logprobs[0]!
  }
  for (let id = 1; id <= 16; id++) {
    const greedy = await logprobOf({ prompt: [id, id], temperature: 0, topK: -1 })
    if (greedy > 1e-6)
      throw new EngineError(`${server.url}: the server gives logits, not log-probabilities`, {
        remedy: 'Start vLLM with --logprobs-mode processed_logprobs or raw_logprobs.',
      })
    if (greedy > -1e-3) continue
    const only = await logprobOf({ prompt: [id, id], temperature: maxTemperature, topK: 1 })
    if (Math.abs(only) < 1e-3 * Math.abs(greedy)) return 'processed'
    if (Math.abs(only - greedy) < 0.02 * Math.abs(greedy)) return 'raw'
    return 'scaled'
  }
  throw new EngineError(
    `${server.url}: cannot find out what its log-probabilities mean: its model is certain of every token that was tried`,
  )
}

/** The largest number of alternatives (`--max-logprobs`): the error for too many names it. The tokens route counts the sampled token too. */
async function alternativesOf(server: ServerConnection, model: string, route: Route): Promise<number> {
  const { status, text } = await ask(server, model, route, { ...first, topLogprobs: mostAlternatives })
  if (status === 200) return mostAlternatives
  const [, most] = /max(?:imum)? allowed:? (\d+)|between 0 and (\d+)/.exec(text)?.filter(Boolean) ?? []
  const own = route === 'tokens' ? 1 : 0
  return Math.min(most === undefined ? usualAlternatives : Number(most), mostAlternatives) - own
}

/** A server that loads adapters refuses one without a name; other servers do not have the route. */
async function takesAdapters(server: ServerConnection): Promise<boolean> {
  const { status, text } = await server.request('POST', '/v1/load_lora_adapter', {
    body: { lora_name: '', lora_path: '' },
    timeoutMs: probeMs,
  })
  return status !== 405 && !(status === 404 && /"detail"/.test(text))
}

/** `structured_outputs` came with 0.11; older servers ignore it. */
function structuredOf(software: string): Pick<ServerFacts, 'structured' | 'structuredNeeds'> {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(software) ?? []
  const known = major !== undefined && (Number(major) > 0 || Number(minor) >= 11)
  if (known) return { structured: ['regex', 'json-schema', 'ebnf'] }
  return { structured: [], structuredNeeds: `vLLM 0.11 or later; the server is ${software}` }
}
