/** `POST /inference/v1/generate`: tokens in, tokens out, with the versions of the weights and without text. */
import type { Sample } from '../rollout/index.js'
import { badRequest, malformed } from './errors.js'
import { type Exchange, type Served, weightsOf } from './exchange.js'
import { generateFields, samplingParamsFields } from './field-tables.js'
import { tellingOf } from './logprobs-mode.js'
import type { EncodedPrompt } from './request-media.js'
import { RequestShape } from './request-shape.js'
import { checkPrompts, usage } from './run-request.js'
import { logprobCount, readSampling } from './sampling-fields.js'
import { checkStream, collectSamples, type StreamRequest, streamChoices } from './stream-choices.js'
import { finite, promptLogprobs, rowsLater, scoresOf, type TokenScore, type TokenShow } from './token-text.js'
import { LazyList } from './write-json.js'

const shape = new RequestShape(generateFields)
const samplingShape = new RequestShape(samplingParamsFields, 'body.sampling_params')

interface TokensRequest extends StreamRequest {
  returnIds: boolean
}

export async function generateTokens(served: Served, exchange: Exchange): Promise<void> {
  const fields = shape.read(exchange.body)
  const weights = weightsOf(served, fields.model)
  const { token_ids: ids } = fields
  if (!ids) throw malformed('token_ids: Field required', 'body.token_ids')
  if (ids.length === 0) throw badRequest('token_ids must not be empty.', 'token_ids')
  const wild = ids.find(id => id < 0 || id >= 2 ** 31)
  if (wild !== undefined) throw badRequest(`Token id ${wild} is out of vocabulary`)
  const asked = samplingShape.read(fields.sampling_params ?? {})
  const { capabilities } = served.engine
  const maxTokens = asked.max_tokens
  const sampling = readSampling(asked, { ...served.limits, maxTokens, capabilities })
  checkStream(fields, sampling)
  // Text is only needed for stop strings.
  if (sampling.params.stop?.length === 0) delete sampling.params.text
  const logprobs = logprobCount('logprobs', asked.logprobs, capabilities)
  const prompt = await withMedia(served, Int32Array.from(ids), fields.content_parts ?? [], exchange)
  const request: TokensRequest = {
    id: `generate-tokens-${exchange.id(fields.request_id)}`,
    weights,
    prompts: [prompt.ids],
    media: [prompt.media],
    sampling,
    maxTokens,
    logprobs,
    topLogprobs: logprobs,
    told: tellingOf(served.logprobsMode, { sampling, alternatives: logprobs ?? 0, eosIds: served.limits.eosIds }),
    returnIds: fields.return_token_ids ?? false,
    streamOptions: fields.stream_options,
  }
  checkPrompts(request, served.limits)
  if (fields.stream) await stream(served, exchange, request)
  else await answer(served, exchange, request)
}

const partKinds = { image_url: 'images', video_url: 'videos' } as const

/** The images and videos of a request belong to the placeholders among its ids: one for each item, or all of them. */
async function withMedia(
  { media }: Served,
  ids: Int32Array,
  parts: readonly object[],
  exchange: Exchange,
): Promise<EncodedPrompt> {
  const param = 'content_parts'
  const given: Record<'images' | 'videos', object[]> = { images: [], videos: [] }
  for (const part of parts as readonly { type?: unknown }[]) {
    const kind = Object.hasOwn(partKinds, String(part.type))
      ? partKinds[part.type as keyof typeof partKinds]
      : undefined
    if (!kind) throw badRequest(`a part of type ${JSON.stringify(part.type)}: expected image_url or video_url.`, param)
    if (!media) throw badRequest('this model reads text alone, no images or videos.', param)
    given[kind].push(part)
  }
  return media ? media.read(ids, { ...given, param }, exchange) : { ids, media: [] }
}

async function answer(served: Served, exchange: Exchange, request: TokensRequest): Promise<void> {
  const found = await collectSamples(served, exchange, request)
  const { sampling, logprobs, told, returnIds } = request
  await exchange.answer({
    request_id: request.id,
    model: request.weights.name,
    created: exchange.created,
    choices: new LazyList(function* () {
      for (const [index, sample] of found.entries())
        yield [
          {
            index,
            token_ids: Array.from(sample.responseIds),
            finish_reason: sample.finishReason,
            stop_reason: sample.stopReason ?? null,
            weight_versions: versions(served, sample),
            logprobs: logprobs === undefined ? null : { content: rowsLater(scoresOf(sample, told), noTexts)(entry) },
          },
        ]
    }),
    usage: usage(found, request),
    prompt_logprobs: sampling.promptLogprobs === undefined ? null : promptLogprobs(found[0]!, served.texts.show(false)),
    ...(returnIds ? { prompt_token_ids: Array.from(found[0]!.promptIds) } : {}),
  })
}

async function stream(served: Served, exchange: Exchange, request: TokensRequest): Promise<void> {
  const { logprobs, told, returnIds } = request
  await streamChoices(served, exchange, request, {
    head: { request_id: request.id, model: request.weights.name, created: exchange.created },
    choice: ({ index, events, sample, first, start }, promptIds) => ({
      index,
      token_ids: events.map(({ id }) => id),
      logprobs:
        logprobs === undefined || events.length === 0
          ? null
          : { content: events.map(({ id, ...event }, i) => entry({ id, ...told({ index: start + i, ...event }) })) },
      finish_reason: sample?.finishReason ?? null,
      stop_reason: sample?.stopReason ?? null,
      ...(sample ? { weight_versions: versions(served, sample) } : {}),
      ...(returnIds && first ? { prompt_token_ids: Array.from(promptIds) } : {}),
    }),
  })
}

const versions = ({ versionName }: Served, sample: Sample): object[] =>
  sample.versions.map(({ version, start, end }) => ({ version: versionName(version), start, end }))

const noTexts: TokenShow = async () => String

function entry({ id, logprob, top }: TokenScore): object {
  const others = Array.from(top?.ids ?? [], (each, k) => ({
    token_id: each,
    logprob: finite(top!.logprobs[k]!),
    rank: k + 1,
  }))
  return { token_id: id, logprob: finite(logprob!), rank: top?.rank ?? null, top_logprobs: others }
}
