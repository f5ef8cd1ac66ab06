/** How vLLM 0.32 words what the toy engine did. Pure. */
import type { ToySequence, ToyToken } from './toy-engine.js'
import { toyText } from './toy-model.js'

export interface CompletionShape {
  readonly id: string
  readonly model: string
  /** How many alternatives were asked for; undefined: no log-probabilities at all. */
  readonly logprobs: number | undefined
  readonly tokenStrings: 'text' | 'ids'
  readonly withIds: boolean
}

const created = (): number => Math.floor(Date.now() / 1000)
/** JSON has no infinities. */
const clamped = (logprob: number): number => Math.max(logprob, -9999)

export function completionAnswer(sequences: readonly ToySequence[], shape: CompletionShape): unknown {
  const choices = sequences.map((sequence, index) => ({
    index,
    text: sequence.text,
    logprobs: completionLogprobs(sequence.tokens, 0, shape),
    finish_reason: sequence.finish!.reason,
    stop_reason: sequence.finish!.matched ?? null,
    token_ids: shape.withIds ? sequence.ids : null,
    prompt_logprobs: promptLogprobs(sequence),
    prompt_token_ids: shape.withIds ? sequence.request.promptIds : null,
    routed_experts: null,
  }))
  return {
    id: shape.id,
    object: 'text_completion',
    created: created(),
    model: shape.model,
    choices,
    service_tier: null,
    system_fingerprint: 'vllm-0.32.0-toy',
    usage: { ...usage(sequences), prompt_tokens_details: null, completion_tokens_details: null },
    kv_transfer_params: null,
    ec_transfer_params: null,
    metrics: null,
  }
}

/** What a sequence has more than at `start`. */
export function completionEvent(sequence: ToySequence, index: number, start: number, shape: CompletionShape): unknown {
  const tokens = sequence.tokens.slice(start)
  const choice = {
    index,
    text: toyText(tokens.map(({ id }) => id)),
    logprobs: completionLogprobs(tokens, start, shape),
    finish_reason: sequence.finish?.reason ?? null,
    stop_reason: sequence.finish?.matched ?? null,
    prompt_token_ids: shape.withIds && start === 0 ? sequence.request.promptIds : null,
    token_ids: shape.withIds ? tokens.map(({ id }) => id) : null,
  }
  return { id: shape.id, object: 'text_completion', created: created(), model: shape.model, choices: [choice] }
}

export const completionUsage = (sequences: readonly ToySequence[], { id, model }: CompletionShape): unknown => ({
  id,
  object: 'text_completion',
  created: created(),
  model,
  choices: [],
  usage: usage(sequences),
  system_fingerprint: 'vllm-0.32.0-toy',
})

export interface TokensShape {
  readonly id: string
  readonly model: string
  readonly logprobs: number | undefined
}

export function tokensAnswer(sequences: readonly ToySequence[], { id, model, logprobs }: TokensShape): unknown {
  return {
    request_id: id,
    model,
    created: created(),
    usage: { ...usage(sequences), prompt_tokens_details: null, completion_tokens_details: null },
    prompt_logprobs: promptLogprobs(sequences[0]!),
    prompt_token_id_logprobs: null,
    prompt_token_ids: null,
    mm_placeholders: null,
    metrics: null,
    kv_transfer_params: null,
    ec_transfer_params: null,
    output_mode: 'tokens',
    choices: sequences.map((sequence, index) => tokensChoice(sequence, index, 0, logprobs)),
  }
}

export const tokensEvent = (sequence: ToySequence, index: number, start: number, shape: TokensShape): unknown => ({
  request_id: shape.id,
  usage: null,
  output_mode: 'tokens',
  choices: [tokensChoice(sequence, index, start, shape.logprobs)],
})

function tokensChoice(sequence: ToySequence, index: number, start: number, logprobs: number | undefined): unknown {
  const tokens = sequence.tokens.slice(start)
  const entry = ({ id, logprob, rank }: { id: number; logprob: number; rank: number }): object => ({
    token_id: id,
    logprob: clamped(logprob),
    rank,
  })
  const content = tokens.map(token => ({
    ...entry(token),
    top_logprobs: alternatives(token)
      .slice(0, Math.max(1, logprobs ?? 0))
      .map(entry),
  }))
  return {
    index,
    finish_reason: sequence.finish?.reason ?? null,
    stop_reason: sequence.finish?.matched ?? null,
    token_ids: tokens.map(({ id }) => id),
    routed_experts: null,
    sampling_mask: null,
    weight_versions: sequence.finish ? sequence.versions : null,
    logprobs: logprobs === undefined ? null : { content },
  }
}

/** The sampled token comes first, likely or not. */
function alternatives(token: ToyToken): { id: number; logprob: number; rank: number }[] {
  const others = token.top.map((other, i) => ({ ...other, rank: i + 1 })).filter(({ id }) => id !== token.id)
  return [{ id: token.id, logprob: token.logprob, rank: token.rank }, ...others]
}

function completionLogprobs(tokens: readonly ToyToken[], start: number, shape: CompletionShape): unknown {
  if (shape.logprobs === undefined) return null
  const word = (id: number): string => (shape.tokenStrings === 'ids' ? `token_id:${id}` : toyText([id]))
  return {
    text_offset: tokens.map((_, i) => 3 * (start + i)),
    token_logprobs: tokens.map(({ logprob }) => clamped(logprob)),
    tokens: tokens.map(({ id }) => word(id)),
    top_logprobs: tokens.map(token =>
      Object.fromEntries(alternatives(token).map(({ id, logprob }) => [word(id), clamped(logprob)])),
    ),
  }
}

function promptLogprobs({ request, prompt }: ToySequence): unknown {
  if (request.promptTop === undefined) return null
  const entry = ({ id, logprob, rank }: { id: number; logprob: number; rank: number }): [string, object] => [
    `${id}`,
    { logprob, rank, decoded_token: toyText([id]) },
  ]
  return [null, ...prompt.map(token => Object.fromEntries(alternatives(token).map(entry)))]
}

function usage(sequences: readonly ToySequence[]) {
  const prompt_tokens = sequences[0]!.request.promptIds.length
  const completion_tokens = sequences.reduce((sum, { tokens }) => sum + tokens.length, 0)
  return { prompt_tokens, total_tokens: prompt_tokens + completion_tokens, completion_tokens }
}
