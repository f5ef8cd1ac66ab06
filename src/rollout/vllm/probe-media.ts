/** Finds out whether a server of vLLM's protocol supports images, videos and audio. */
import type { VisionConfig } from '../../decoder/index.js'
import type { ServerConnection, ServerFacts } from '../remote/dialect.js'
import { ProtocolError, RefusalError, serverWords } from '../remote/errors.js'
import {
  type AudioConfig,
  framesUrl,
  imageUrl,
  probeImage,
  probeSound,
  probeSoundProblem,
  readsProbeMedia,
  type SentItem,
} from '../remote/sent-media.js'
import { prepareItem } from './prepared-media.js'

interface Question {
  readonly model: string
  readonly route: 'tokens' | 'completions'
}

interface MediaQuestion extends Question {
  readonly vision: VisionConfig
  /** `whetstone serve`, which reads the frame rate of each video. */
  readonly isOurs: boolean
}

/** `videos`: as parts of a request, or prepared by the server first. */
type MediaFacts = Pick<ServerFacts, 'media' | 'mediaNeeds' | 'videoRate'> & { readonly videos?: 'parts' | 'prepared' }

const probeMs = 120_000
const needsRoute = 'the server needs the route of token ids: vLLM 0.32 with --enable-scale-out'

export async function mediaOf(server: ServerConnection, question: MediaQuestion): Promise<MediaFacts> {
  const { route, vision } = question
  if (route !== 'tokens') return { media: [], mediaNeeds: needsRoute }
  const image = await probeImage(vision)
  const problem = await problemWith(server, question, { kind: 'image', frames: [image], fps: undefined })
  if (problem !== undefined) return { media: [], mediaNeeds: problem }
  const videos = await videosOf(server, question, image)
  return typeof videos === 'string'
    ? { media: ['image'], mediaNeeds: videos }
    : { media: ['image', 'video'], ...videos }
}

/** How videos go to it, or why not. */
async function videosOf(
  server: ServerConnection,
  question: MediaQuestion,
  frame: string,
): Promise<Pick<MediaFacts, 'videos' | 'videoRate'> | string> {
  const { videoTime } = question.vision
  const probe: SentItem = { kind: 'video', frames: new Array<string>(4).fill(frame), fps: 2 }
  const problem = await problemWith(server, question, probe)
  if (problem !== undefined) return problem
  if (question.isOurs || videoTime === 'index') return { videos: 'parts' }
  // Times as text are in the prompt that the server tells. It cannot take them prepared: its parts of a prompt have no such text.
  const rate = await rateOf(server)
  if (videoTime === 'text') return { videos: 'parts', videoRate: rate }
  const untrusted = await problemWithPrepared(server, probe, question.model)
  if (untrusted === undefined) return { videos: 'prepared' }
  if (rate !== undefined) return { videos: 'parts', videoRate: rate }
  return `this model reads times, and the server takes no frame rate: start vLLM with --trust-request-mm-kwargs (${untrusted})`
}

/** Frames of a second that the server takes for all videos: what it was started with, else 1. Undefined: it does not tell. */
async function rateOf(server: ServerConnection): Promise<number | undefined> {
  const { status, text } = await server.request('GET', '/server_info?config_format=json', { timeoutMs: probeMs })
  const [, given] = /"media_io_kwargs"\s*:\s*(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})/.exec(status === 200 ? text : '') ?? []
  if (given === undefined) return undefined
  try {
    const { video } = JSON.parse(given) as { video?: { fps?: unknown } }
    return typeof video?.fps === 'number' ? video.fps : 1
  } catch {
    return undefined
  }
}

async function problemWithPrepared(
  server: ServerConnection,
  probe: SentItem,
  model: string,
): Promise<string | undefined> {
  try {
    await prepareItem(server, probe, model)
    return undefined
  } catch (error) {
    if (error instanceof RefusalError || error instanceof ProtocolError) return error.message
    throw error
  }
}

async function problemWith(
  server: ServerConnection,
  { model, vision }: MediaQuestion,
  { kind, frames, fps }: SentItem,
): Promise<string | undefined> {
  const { tokens } = vision
  const url = kind === 'image' ? imageUrl(frames[0]!) : framesUrl(frames)
  const { status, text } = await ask(server, model, [tokens.start, tokens[kind], tokens.end], {
    ...{ type: `${kind}_url`, url },
    ...(fps === undefined ? {} : { fps }),
  })
  if (status !== 200) return `the server does not read ${kind}s (it answered ${status}: ${serverWords(text)})`
  return readsProbeMedia(text, kind, vision)
}

export async function audioOf(
  server: ServerConnection,
  { model, route, audio }: Question & { readonly audio: AudioConfig },
): Promise<ServerFacts['audio']> {
  if (route !== 'tokens') return { missing: needsRoute }
  const { status, text } = await ask(server, model, [audio.token], { type: 'audio_url', url: probeSound() })
  if (status !== 200)
    return { missing: `the server does not hear sounds (it answered ${status}: ${serverWords(text)})` }
  const problem = probeSoundProblem(text, audio)
  return problem === undefined ? 'supported' : { missing: problem }
}

function ask(server: ServerConnection, model: string, ids: readonly number[], part: object) {
  return server.request('POST', '/inference/v1/generate', {
    body: {
      model,
      request_id: `whetstone-probe-${process.pid}-${Math.random().toString(36).slice(2)}`,
      token_ids: ids,
      content_parts: [part],
      sampling_params: { max_tokens: 1, temperature: 0 },
      return_token_ids: true,
    },
    timeoutMs: probeMs,
  })
}
