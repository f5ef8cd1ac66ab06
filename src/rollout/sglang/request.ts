/** Writes SGLang's generation requests. Pure. */
import type { GenerationAttempt, ServerFacts } from '../remote/dialect.js'
import { imageUrl, type SentMedia } from '../remote/sent-media.js'
import type { StructuredOutput } from '../sampling.js'

/** Makes a probability 0 at any temperature. */
const never = -1e9

/**
 * One prompt and one sample: with several samples the server drops the request's id, and none could be aborted. Sends every parameter: for a
 * missing one the server takes the model's default.
 */
export function generationRequest(attempt: GenerationAttempt, facts: ServerFacts): { path: string; body: string } {
  const { id, idsJson, adapter, promptLogprobs, transport, sampling, media } = attempt
  const alternatives = Math.max(sampling.topLogprobs ?? 0, promptLogprobs ?? 0)
  const rest = {
    rid: id,
    sampling_params: samplingParams(attempt, facts),
    return_logprob: true,
    // 0: from the first token on; -1: only the response. Other values recompute a part, or end the server.
    logprob_start_len: promptLogprobs === undefined ? -1 : 0,
    top_logprobs_num: alternatives,
    stream: transport === 'stream',
    ...(adapter === undefined ? {} : { lora_path: adapter }),
  }
  // The ids are JSON text already: writing them for each sample would cost more than all the rest.
  return { path: '/generate', body: `{"input_ids":${idsJson},${mediaFields(media)}${JSON.stringify(rest).slice(1)}` }
}

const dataJson = new WeakMap<SentMedia, string>()

/** Images and sounds. With images alone the server keeps the ids; beside sounds it encodes the text of the prompt again. */
function mediaFields(media: SentMedia | undefined): string {
  if (!media) return ''
  let json = dataJson.get(media)
  if (json === undefined) {
    const { items, audios } = media
    const images = items.map(({ frames }) => imageUrl(frames[0]!))
    const given = {
      ...(images.length > 0 ? { image_data: images } : {}),
      ...(audios.length > 0 ? { audio_data: audios } : {}),
    }
    json = `${JSON.stringify(given).slice(1, -1)},`
    dataJson.set(media, json)
  }
  return `${json}"return_prompt_token_ids":true,`
}

function samplingParams(attempt: GenerationAttempt, facts: ServerFacts): Readonly<Record<string, unknown>> {
  const { maxNewTokens, minNewTokens, temperature, seed, sampling } = attempt
  const { topK, topP, minP, stop, stopIds, ignoreEos, forbiddenIds, structured, text } = sampling
  // The client finds stop strings again; here they end the request early. The server ignores `min_new_tokens` for them.
  const endsByText = facts.tokenizer === true && stop.length > 0 && minNewTokens === 0
  return {
    max_new_tokens: maxNewTokens,
    min_new_tokens: Math.min(minNewTokens, maxNewTokens),
    temperature,
    top_k: topK,
    top_p: topP,
    min_p: minP,
    frequency_penalty: 0,
    presence_penalty: 0,
    repetition_penalty: 1,
    n: 1,
    // `ignore_eos` also ignores `stop_token_ids`: with them, the response is continued after an end-of-sequence token.
    ignore_eos: ignoreEos && stopIds.length === 0,
    stop_token_ids: stopIds,
    ...(endsByText ? { stop, skip_special_tokens: text !== 'with-special' } : {}),
    ...(forbiddenIds.length > 0 ? { logit_bias: Object.fromEntries(forbiddenIds.map(id => [id, never])) } : {}),
    // Without deterministic inference a seed has no effect, and older servers lack the field.
    ...(facts.seeds === 'position' ? { sampling_seed: seed } : {}),
    ...(structured === undefined ? {} : form(structured)),
  }
}

function form(structured: StructuredOutput): Readonly<Record<string, string>> {
  if (structured.kind === 'regex') return { regex: structured.pattern }
  if (structured.kind === 'ebnf') return { ebnf: structured.grammar }
  return { json_schema: JSON.stringify(structured.schema) }
}
