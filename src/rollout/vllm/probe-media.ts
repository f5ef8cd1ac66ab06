/** Finds out whether a server of vLLM's protocol reads images and videos. */
import type { VisionConfig } from '../../decoder/index.js'
import type { ServerConnection, ServerFacts } from '../remote/dialect.js'
import { serverWords } from '../remote/errors.js'
import { imageUrl, probeImage, readsProbeImage } from '../remote/sent-media.js'

export interface MediaQuestion {
  readonly model: string
  readonly route: 'tokens' | 'completions'
  readonly vision: VisionConfig
  /** `whetstone serve`, which reads the frame rate of each video. */
  readonly isOurs: boolean
}

type MediaFacts = Pick<ServerFacts, 'media' | 'mediaNeeds'>

const probeMs = 120_000

export async function mediaOf(server: ServerConnection, question: MediaQuestion): Promise<MediaFacts> {
  const { route, vision, isOurs } = question
  if (route !== 'tokens')
    return { media: [], mediaNeeds: 'the server needs the route of token ids: vLLM 0.32 with --enable-scale-out' }
  const problem = await problemWithImages(server, question)
  if (problem !== undefined) return { media: [], mediaNeeds: problem }
  // The rate would change positions or texts, and a request cannot say it; index times have none.
  if (isOurs || vision.videoTime === 'index') return { media: ['image', 'video'] }
  return {
    media: ['image'],
    mediaNeeds:
      'vLLM does not take the frame rate of a video with token ids, and this model reads times; use `whetstone serve --control`',
  }
}

async function problemWithImages(
  server: ServerConnection,
  { model, vision }: MediaQuestion,
): Promise<string | undefined> {
  const { tokens } = vision
  const { status, text } = await server.request('POST', '/inference/v1/generate', {
    body: {
      model,
      request_id: `whetstone-probe-${process.pid}-${Math.random().toString(36).slice(2)}`,
      token_ids: [tokens.start, tokens.image, tokens.end],
      content_parts: [{ type: 'image_url', url: imageUrl(await probeImage(vision)) }],
      sampling_params: { max_tokens: 1, temperature: 0 },
      return_token_ids: true,
    },
    timeoutMs: probeMs,
  })
  if (status !== 200) return `the server does not read images (it answered ${status}: ${serverWords(text)})`
  return readsProbeImage(text, vision)
}
