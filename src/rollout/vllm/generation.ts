/** Writes generation requests. Sends every parameter: for a missing one the server takes the model's default, not ours. */
import type { GenerationAttempt, ServerFacts } from '../remote/dialect.js'
import { framesUrl, imageUrl, type SentItem, type SentMedia } from '../remote/sent-media.js'
import type { StructuredOutput } from '../sampling.js'

/** vLLM 0.28 and later take no more stop strings. The client finds all of them again in the text. */
const mostStops = 4
/** The strongest bias; it forbids the token. */
const forbids = -100

/** Fields of both routes. */
function samplingFields(attempt: GenerationAttempt, route: unknown): Record<string, unknown> {
  const { sampling, promptLogprobs } = attempt
  const { topK, topP, minP, stop, stopIds, ignoreEos, forbiddenIds, topLogprobs = 0, structured } = sampling
  return {
    n: 1,
    max_tokens: attempt.maxNewTokens,
    min_tokens: attempt.minNewTokens,
    temperature: attempt.temperature,
    top_p: topP,
    top_k: topK,
    min_p: minP,
    seed: attempt.seed,
    stop: stop.slice(0, mostStops),
    stop_token_ids: stopIds,
    ignore_eos: ignoreEos,
    include_stop_str_in_output: false,
    skip_special_tokens: sampling.text !== 'with-special',
    presence_penalty: 0,
    frequency_penalty: 0,
    repetition_penalty: 1,
    // The tokens route counts the sampled token too.
    logprobs: topLogprobs > 0 && route === 'tokens' ? topLogprobs + 1 : topLogprobs,
    ...(promptLogprobs === undefined ? {} : { prompt_logprobs: promptLogprobs }),
    ...(forbiddenIds.length === 0 ? {} : { logit_bias: Object.fromEntries(forbiddenIds.map(id => [id, forbids])) }),
    ...(structured ? { structured_outputs: structuredFields(structured) } : {}),
  }
}

function structuredFields(structured: StructuredOutput): Record<string, unknown> {
  switch (structured.kind) {
    case 'regex':
      return { regex: structured.pattern }
    case 'json-schema':
      return { json: structured.schema }
    case 'ebnf':
      return { grammar: structured.grammar }
  }
}

const partsJson = new WeakMap<SentMedia, string>()

/** Megabytes for some prompts: written once for all samples. The server puts the expanded prompt into its answer. */
function mediaFields({ media }: GenerationAttempt): string {
  if (!media) return ''
  let json = partsJson.get(media)
  if (json === undefined) {
    const sounds = media.audios.map(url => ({ type: 'audio_url', url }))
    json = JSON.stringify([...media.items.map(contentPart), ...sounds])
    partsJson.set(media, json)
  }
  return `"content_parts":${json},"return_token_ids":true,`
}

interface ContentPart {
  readonly type: 'image_url' | 'video_url'
  readonly url: string
  readonly fps?: number
}

export function contentPart({ kind, frames, fps }: SentItem): ContentPart {
  if (kind === 'image') return { type: 'image_url', url: imageUrl(frames[0]!) }
  // vLLM ignores the rate, `whetstone serve` reads it.
  return { type: 'video_url', url: framesUrl(frames), ...(fps === undefined ? {} : { fps }) }
}

/** Puts the prompt's ids in as JSON text: they are written once for all samples. Prepared media go with the expanded prompt. */
export function generationBody(
  attempt: GenerationAttempt,
  facts: ServerFacts,
  prepared?: string,
): { path: string; body: string } {
  const head = JSON.stringify({
    model: attempt.adapter ?? facts.model,
    request_id: attempt.id,
    ...(attempt.transport === 'stream' ? { stream: true } : {}),
  }).slice(0, -1)
  const fields = samplingFields(attempt, facts.route)
  if (facts.route === 'tokens') {
    const params = JSON.stringify({ ...fields, detokenize: attempt.sampling.stop.length > 0 })
    return {
      path: '/inference/v1/generate',
      body: `${head},${
        prepared === undefined
          ? `"token_ids":${attempt.idsJson},${mediaFields(attempt)}`
          : `"token_ids":[${attempt.ids.join(',')}],"features":${prepared},"return_token_ids":true,`
      }"sampling_params":${params}}`,
    }
  }
  const params = JSON.stringify({ ...fields, return_token_ids: true, return_tokens_as_token_ids: true })
  return { path: '/v1/completions', body: `${head},"prompt":${attempt.idsJson},${params.slice(1)}` }
}
