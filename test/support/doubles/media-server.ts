/** A server that speaks the protocols of vLLM and SGLang as far as images, videos and sounds go, as recorded from vLLM 0.32 and SGLang 0.5.23. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import sharp from 'sharp'
import { atEnd } from '../at-end.js'

type Json = Record<string, unknown>

export interface MediaServerOptions {
  /** What it does wrong. `later`: only after the first image. */
  readonly fault?: 'text-only' | 'ignores' | 'expands-twice' | 'silent' | 'later'
  /** `--trust-request-mm-kwargs`: requests may say frame rates. */
  readonly trusts?: boolean
  /** `--media-io-kwargs` of videos; null: the server does not tell its config. */
  readonly videoKwargs?: { readonly fps?: number; readonly num_frames?: number } | null
  /** Times of videos are texts of the prompt, as in Qwen3-VL; an image has a token for each 32 x 32 pixels, not 28 x 28. */
  readonly times?: 'text'
  /** The placeholder of a sound, of a model that hears. */
  readonly audioId?: number
}

export interface MediaServer {
  readonly url: string
  /** Of requests that generate. */
  readonly bodies: Json[]
  /** Of messages that were prepared. */
  readonly prepared: Json[]
}

const [imageId, videoId, startId, endId, timeId] = [5, 6, 3, 4, 40]
/** Tokens that it makes of any sound. */
export const soundTokens = 3

export async function mediaServer(options: MediaServerOptions = {}): Promise<MediaServer> {
  const { fault, trusts = false, videoKwargs = {}, audioId } = options
  const bodies: Json[] = []
  const prepared: Json[] = []
  const http = createServer(async (request, response) => {
    const say = (status: number, json: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    const refuse = (status: number, message: string) => say(status, { error: { message } })
    const path = request.url!.split('?')[0]!
    const body = await bodyOf(request)
    if (path === '/version') return say(200, { version: '0.32.0' })
    if (path === '/v1/models')
      return say(200, { data: [{ id: 'm', owned_by: 'vllm', parent: null, max_model_len: 512 }] })
    if (path === '/server_info') {
      const config = videoKwargs && { vllm_config: { multimodal_config: { media_io_kwargs: { video: videoKwargs } } } }
      return say(200, { version: '0.5.23', max_req_input_len: 500, ...config })
    }
    if (path === '/model_info') return say(200, { is_generation: true })
    if (path === '/health' || path === '/ready' || path === '/continue_generation') return say(200, {})
    if (path === '/v1/chat/completions/render') {
      if (body.media_io_kwargs && !trusts) return refuse(400, '--trust-request-mm-kwargs is not set.')
      prepared.push(body)
      return say(200, await renderedMessage(body, prepared.length))
    }
    if (path !== '/inference/v1/generate' && path !== '/generate') return say(404, { detail: 'Not Found' })
    bodies.push(body)
    const isVllm = path === '/inference/v1/generate'
    const ids = (isVllm ? body.token_ids : body.input_ids) as number[]
    const urls = isVllm
      ? ((body.content_parts ?? []) as { url: string }[]).map(({ url }) => url)
      : ([...((body.image_data ?? []) as string[]), ...((body.audio_data ?? []) as string[])] as string[])
    const isSound = urls.some(url => url.startsWith('data:audio/'))
    if (isSound ? audioId === undefined : urls.length > 0 && fault === 'text-only')
      return refuse(400, 'm is not a multimodal model')
    const seen = bodies.filter(one => one.content_parts ?? one.image_data ?? one.audio_data).length
    const isLost = fault === 'ignores' || (fault === 'later' && seen > 1)
    const prompt = body.features ? ids : await expanded(ids, isLost ? [] : urls, options)
    const told = fault === 'silent' ? {} : { prompt_token_ids: prompt }
    const { temperature, top_k, logprobs = 0 } = (body.sampling_params ?? {}) as Record<string, number>
    const logprob = temperature === 2 && top_k === 1 ? 0 : -1
    const others = Array.from({ length: Math.min(logprobs!, 4) }, (_, k) => ({
      ...{ token_id: 9 + k, logprob: -1 - k, rank: k + 1 },
    }))
    if (isVllm)
      return say(200, {
        choices: [
          {
            index: 0,
            token_ids: [9],
            finish_reason: 'length',
            logprobs: { content: [{ token_id: 9, logprob, rank: 1, top_logprobs: others }] },
          },
        ],
        ...told,
      })
    return say(200, {
      output_ids: [9],
      meta_info: {
        finish_reason: { type: 'length' },
        output_token_logprobs: [[-1, 9, null]],
        output_top_logprobs: [[[-1, 9, null]]],
      },
      ...told,
    })
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  atEnd(() => http.close())
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, bodies, prepared }
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return parts.length === 0 ? {} : JSON.parse(Buffer.concat(parts).toString())
}

/** Tokens of an image, or of a video of frames after each other. */
async function tokensOf(url: string, side = 28): Promise<{ id: number; grids: number; each: number }> {
  const [, first, ...others] = url.split(',')
  const { width, height } = await sharp(Buffer.from(first!, 'base64')).metadata()
  const each = (width * height) / side ** 2
  if (url.startsWith('data:image/')) return { id: imageId, grids: 1, each }
  return { id: videoId, grids: Math.ceil((1 + others.length) / 2), each }
}

/** As servers do: the first placeholders, one for each item, become as many as its patches make. */
async function expanded(
  ids: readonly number[],
  urls: readonly string[],
  { fault, times, audioId }: MediaServerOptions,
): Promise<number[]> {
  const sounds = urls.filter(url => url.startsWith('data:audio/'))
  const items = await Promise.all(
    urls.filter(url => !url.startsWith('data:audio/')).map(url => tokensOf(url, times ? 32 : 28)),
  )
  const replaced = (id: number): number[] => {
    if (id === audioId && sounds.shift() !== undefined) return new Array<number>(soundTokens).fill(id)
    const place = items.findIndex(item => item.id === id)
    if (place < 0) return [id]
    const [{ grids, each }] = items.splice(place, 1) as [(typeof items)[0]]
    const pads = new Array<number>(each).fill(id)
    const grid = id === videoId && times === 'text' ? [timeId, startId, ...pads, endId] : pads
    return Array.from({ length: grids }, () => grid).flat()
  }
  const once = ids.flatMap(replaced)
  return fault === 'expands-twice' ? once.flatMap(id => (id === imageId ? [id, id] : [id])) : once
}

async function renderedMessage({ messages }: Json, number: number): Promise<object> {
  const [{ content }] = messages as [{ content: [Record<string, unknown>] }]
  const type = content[0].type as string
  const { grids, each } = await tokensOf((content[0][type] as { url: string }).url)
  const kind = type.slice(0, -'_url'.length)
  return {
    token_ids: [],
    features: {
      mm_hashes: { [kind]: [`hash ${number}`] },
      mm_placeholders: { [kind]: [{ offset: 5, length: grids * each }] },
      kwargs_data: { [kind]: [`pixels ${number}`] },
      mm_metadata: null,
    },
  }
}
