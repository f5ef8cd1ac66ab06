/** Finds out whether an SGLang server reads images. */
import type { VisionConfig } from '../../decoder/index.js'
import type { ServerConnection, ServerFacts } from '../remote/dialect.js'
import { serverWords } from '../remote/errors.js'
import { imageUrl, probeImage, readsProbeImage } from '../remote/sent-media.js'

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
  const problem = readsProbeImage(text, vision)
  if (problem !== undefined) return { media: [], mediaNeeds: problem }
  // It resizes frames by another method before its processor does, so that the model would see other pixels than the trainer's.
  return { media: ['image'], mediaNeeds: 'SGLang resizes videos before the processor of the model does' }
}
