/** How SGLang 0.5.23 words what the toy engine did. Pure. */
import type { ToySequence, ToyToken } from './toy-engine.js'
import { toyEosId } from './toy-model.js'

export interface SglangShape {
  readonly id: string
  readonly marker: string
  readonly logprobs: boolean
  readonly top: number
  /** From where on the prompt's log-probabilities are wanted; -1: not at all. */
  readonly start: number
  readonly withText: boolean
  /** `none`: older servers do not say which weights made which tokens. */
  readonly versions: 'marked' | 'none'
}

type Triple = [logprob: number | null, id: number, text: null]

/** A masked token's log-probability. */
const least = -3.4028234663852886e38
const triple = ({ id, logprob }: { id: number; logprob: number }): Triple => [Math.max(logprob, least), id, null]
const tops = (token: ToyToken): Triple[] => token.top.map(triple)

/** All that a sequence has so far: what a whole answer and each event of a stream hold. `from`: only what came after. */
export function sglangAnswer(sequence: ToySequence, shape: SglangShape, from = 0): Record<string, unknown> {
  const { request, finish, cached } = sequence
  const tokens = sequence.tokens.slice(from)
  const { promptIds } = request
  const input: Triple[] =
    shape.start < 0
      ? []
      : promptIds
          .slice(shape.start)
          .map((id, i) => (i === 0 ? [null, id, null] : triple(sequence.prompt[shape.start + i - 1]!)))
  const alternatives =
    shape.top === 0
      ? {}
      : {
          ...(shape.start < 0
            ? {}
            : {
                input_top_logprobs: input.map((_, i) => (i === 0 ? null : tops(sequence.prompt[shape.start + i - 1]!))),
              }),
          output_top_logprobs: tokens.map(tops),
        }
  const logprobs = shape.logprobs
    ? {
        input_token_logprobs: input,
        output_token_logprobs: tokens.map(triple),
        output_token_logprobs_length: sequence.tokens.length,
        ...alternatives,
      }
    : {}
  const versions = sequence.versions.length > 0 ? sequence.versions : [{ version: shape.marker, start: 0, end: 0 }]
  const meta = {
    id: shape.id,
    finish_reason: finish === undefined ? null : finishReason(sequence),
    prompt_tokens: promptIds.length,
    weight_version: shape.marker,
    num_retractions: sequence.retractions,
    ...logprobs,
    reasoning_tokens: 0,
    completion_tokens: sequence.tokens.length,
    cached_tokens: cached,
    ...(finish && shape.versions === 'marked' ? { weight_versions: versions } : {}),
    cached_tokens_details: cached === 0 ? null : { device: cached, host: 0 },
    dp_rank: null,
    ...(finish ? { e2e_latency: 0.01 } : {}),
  }
  const text = shape.withText ? { text: sequence.text } : {}
  return { ...text, output_ids: tokens.map(({ id }) => id), meta_info: meta }
}

/** Whole answers also say when they were sent. */
export function sglangWhole(sequence: ToySequence, shape: SglangShape): Record<string, unknown> {
  const { meta_info, ...answer } = sglangAnswer(sequence, shape)
  return { ...answer, meta_info: { ...(meta_info as object), response_sent_to_client_ts: Date.now() / 1000 } }
}

function finishReason({ finish, tokens }: ToySequence): unknown {
  if (finish!.reason === 'abort') return { type: 'abort', message: 'Aborted', status_code: null, err_type: null }
  if (finish!.reason === 'length') return { type: 'length', length: tokens.length }
  return { type: 'stop', matched: finish!.matched ?? toyEosId }
}
