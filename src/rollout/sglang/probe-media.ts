/** Finds out whether an SGLang server supports images and audio. */
import type { VisionConfig } from '../../decoder/index.js'
import type { ServerConnection, ServerFacts } from '../remote/dialect.js'
import { serverWords } from '../remote/errors.js'
import {
  type AudioConfig,
  imageUrl,
  probeImage,
  probeSound,
  probeSoundProblem,
  readsProbeMedia,
} from '../remote/sent-media.js'

const probeMs = 120_000

export async function mediaOf(
  server: ServerConnection,
  vision: VisionConfig,
): Promise<Pick<ServerFacts, 'media' | 'mediaNeeds'>> {
  const { tokens } = vision
  const { status, text } = await server.request('POST', '/generate', {
    body: {
      input_ids: [tokens.start, tokens.image, tokens.end],
      image_data: [imageUrl(await probeImage(vision))],
      sampling_params: { max_new_tokens: 1, temperature: 0 },
      return_prompt_token_ids: true,
    },
    timeoutMs: probeMs,
  })
  if (status !== 200)
    return { media: [], mediaNeeds: `the server does not read images (it answered ${status}: ${serverWords(text)})` }
  const problem = readsProbeMedia(text, 'image', vision)
  if (problem !== undefined) return { media: [], mediaNeeds: problem }
  return {
    media: ['image'],
    mediaNeeds:
      'SGLang takes videos only as files, chooses and resizes their frames itself, and encodes the text of the prompt again',
  }
}

export async function audioOf(server: ServerConnection, audio: AudioConfig): Promise<ServerFacts['audio']> {
  const { status, text } = await server.request('POST', '/generate', {
    body: {
      input_ids: [audio.token],
      audio_data: [probeSound()],
      sampling_params: { max_new_tokens: 1, temperature: 0 },
      return_prompt_token_ids: true,
    },
    timeoutMs: probeMs,
  })
  if (status !== 200)
    return { missing: `the server does not hear sounds (it answered ${status}: ${serverWords(text)})` }
  const problem = probeSoundProblem(text, audio)
  return problem === undefined ? 'supported' : { missing: problem }
}
