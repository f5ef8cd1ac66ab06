/** `POST /inference/v1/generate`: tokens in, tokens out, no text, and which weights made them. */
import type { Sample } from '../rollout/index.js'
import { badRequest, malformed } from './errors.js'
import type { Exchange, Served } from './exchange.js'
import { Fields } from './fields.js'
import { checkPrompts, type Generation, runGeneration, usage } from './run-request.js'
import { logprobCount, readSampling } from './sampling-fields.js'
import { streamChoices } from './stream-choices.js'
import { finite, promptLogprobs, scoreOf, scoresOf, type TokenScore } from './token-text.js'

export async function generateTokens(served: Served, exchange: Exchange): Promise<void> {
  const fields = new Fields(exchange.body)
  served.checkModel(fields)
  const ids = fields.integers('token_ids')
  if (!ids) throw malformed('token_ids: Field required', 'body.token_ids')
  if (ids.length === 0) throw badRequest('token_ids must not be empty.', 'token_ids')
  const wild = ids.find(id => id < 0 || id >= 2 ** 31)
  if (wild !== undefined) throw badRequest(`Token id ${wild} is out of vocabulary`)
  const asked = new Fields(fields.object('sampling_params') ?? {})
  const sampling = readSampling(asked, { text: served.tokenizer !== undefined })
  // Text is decoded for stop strings alone.
  if (sampling.params.stop?.length === 0) delete sampling.params.text
  const logprobs = logprobCount(asked, 'logprobs')
  const request: Generation & { fields: Fields } = {
    id: `generate-tokens-${exchange.id(fields)}`,
    prompts: [Int32Array.from(ids)],
    sampling,
    maxTokens: asked.integer('max_tokens'),
    topLogprobs: logprobs,
    fields,
  }
  checkPrompts(request, served.limits)
  const shownLogprobs = (scores: readonly TokenScore[]): object | null =>
    logprobs === undefined ? null : { content: scores.map(entry) }

  if (fields.flag('stream')) {
    await streamChoices(served, exchange, request, {
      head: { request_id: request.id, model: served.name, created: exchange.created },
      chunk: async ({ index, event, completion }) => ({
        index,
        token_ids: event ? [event.id] : [],
        logprobs: event ? shownLogprobs([scoreOf(event)]) : null,
        finish_reason: completion?.finishReason ?? null,
        stop_reason: completion?.stopReason ?? null,
        ...(completion ? { weight_versions: versions(completion) } : {}),
      }),
    })
    return
  }
  const found: Sample[] = []
  const onCompletion = (_: number, completion: Sample): void => {
    found[completion.sample] = completion
  }
  await runGeneration(served.engine, request, { onCompletion }, exchange.signal)
  const show = served.texts.show(false)
  exchange.json(200, {
    request_id: request.id,
    model: served.name,
    created: exchange.created,
    choices: found.map((completion, index) => ({
      index,
      token_ids: Array.from(completion.responseIds),
      finish_reason: completion.finishReason,
      stop_reason: completion.stopReason ?? null,
      weight_versions: versions(completion),
      logprobs: shownLogprobs(scoresOf(completion)),
    })),
    usage: usage(found, request),
    prompt_logprobs: sampling.promptLogprobs === undefined ? null : await promptLogprobs(found[0]!, show),
  })
}

const versions = (completion: Sample): object[] =>
  completion.versions.map(({ version, start, end }) => ({ version: `${version}`, start, end }))

function entry({ id, logprob, top }: TokenScore): object {
  const others = Array.from(top?.ids ?? [], (each, k) => ({
    token_id: each,
    logprob: finite(top!.logprobs[k]!),
    rank: k + 1,
  }))
  return { token_id: id, logprob: finite(logprob), rank: top?.rank ?? null, top_logprobs: others }
}
