/**
 * Every field of OpenAI's and vLLM's published request types, and what the server does with it. `docs/serve-fields.md` is made from these
 * tables; tests compare them with the published types.
 */
import {
  flag,
  ids,
  integer,
  list,
  logitBias,
  mediaIo,
  number,
  object,
  objects,
  prompt,
  side,
  string,
  strings,
} from './field-schemas.js'
import { type FieldTable, harmless, honoured, refused, refusedUnless } from './request-shape.js'

const noStructure = 'output is not constrained to a structure'
const noBeams = 'there is no beam search'
const noCaches = 'prompts are not kept between requests'
const noTransfer = 'keys and values are not moved between servers'
const noReasoning = 'reasoning is not separated from the answer; use chat_template_kwargs for options of the template'
const noMedia = 'about how images and videos travel between servers'
const isText = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'text'
const given = (value: unknown): boolean => Array.isArray(value) && value.length > 0

/** Sampling and log-probabilities: fields of every route that generates. */
const sampling = {
  n: honoured(integer, 'choices of each prompt; not over 1 at temperature 0'),
  temperature: honoured(number, '0, or 1e-5 to 2; default 1'),
  top_p: honoured(number),
  top_k: honoured(integer, '0 and -1: all'),
  min_p: honoured(number),
  seed: honoured(integer, '-1: none'),
  stop: honoured(strings),
  stop_token_ids: honoured(ids),
  min_tokens: honoured(integer),
  ignore_eos: honoured(flag),
  include_stop_str_in_output: honoured(flag),
  skip_special_tokens: honoured(flag),
  prompt_logprobs: honoured(integer, 'up to 20; not while streaming'),
  logit_bias: honoured(logitBias, '-100 forbids a token, 0 does nothing, other values are refused'),
  presence_penalty: refused('there are no penalties', 0),
  frequency_penalty: refused('there are no penalties', 0),
  repetition_penalty: refused('there are no penalties', 1),
  repetition_detection: refused('repetitions do not end a response'),
  allowed_token_ids: refused('use logit_bias to forbid tokens'),
  bad_words: refused('words are not forbidden; use logit_bias for tokens', []),
  logprob_token_ids: refused('log-probabilities are of the likeliest tokens'),
  structured_outputs: refused(noStructure),
  thinking_token_budget: refused(noReasoning),
  watermarking: refused('there is no watermark', false),
  spaces_between_special_tokens: harmless('nothing is put between tokens, as with any fast tokenizer'),
  stream_interval: harmless('tokens per event; the tokens are the same'),
} satisfies FieldTable

/** Fields of both routes of OpenAI's API. */
const common = {
  ...sampling,
  model: honoured(string, 'any other name than the served one is answered with 404'),
  stream: honoured(flag),
  stream_options: honoured(object, 'only with stream'),
  request_id: honoured(string, 'part of the id of the answer; also as the header X-Request-Id'),
  return_token_ids: honoured(flag),
  return_tokens_as_token_ids: honoured(flag),
  truncate_prompt_tokens: honoured(integer, '-1: as many as the context has room for beside max_tokens'),
  truncation_side: honoured(side, 'default left: the end of the prompt is kept'),
  add_special_tokens: honoured(flag, 'default true for completions, false for chats'),
  response_format: refusedUnless(noStructure, '`{"type": "text"}`', isText),
  use_beam_search: refused(noBeams, false),
  length_penalty: refused(noBeams, 1),
  early_stopping: refused(noBeams, false),
  guided_json: refused(noStructure),
  guided_regex: refused(noStructure),
  guided_choice: refused(noStructure),
  guided_grammar: refused(noStructure),
  guided_decoding_backend: refused(noStructure),
  guided_whitespace_pattern: refused(noStructure),
  structural_tag: refused(noStructure),
  kv_transfer_params: refused(noTransfer),
  ec_transfer_params: refused(noTransfer),
  vllm_xargs: refused('there are no extensions', {}),
  return_token_offsets: refused('offsets of tokens are not given', false),
  routed_experts_prompt_start: refused('there are no experts', 0),
  user: harmless('names an end user'),
  session_id: harmless('a hint for routers'),
  priority: harmless('requests share the engine evenly'),
  cache_salt: harmless(noCaches),
  mm_payload: harmless(noMedia),
  return_mm_kwargs: harmless(noMedia),
} satisfies FieldTable

export const completionFields = {
  ...common,
  prompt: honoured(prompt, 'text or token ids, one or several'),
  max_tokens: honoured(integer, 'default 16; at most what the context has room for'),
  logprobs: honoured(integer, 'up to 20; 0: only of the sampled tokens'),
  echo: honoured(flag, 'not while streaming'),
  best_of: refusedUnless('all choices are returned', 'the value of `n`', (value, { n }) => value === (n ?? 1)),
  suffix: refused('nothing is inserted before a suffix', ''),
  prompt_embeds: refused('prompts are text or token ids'),
} satisfies FieldTable

export const chatFields = {
  ...common,
  messages: honoured(list, 'text, also in parts; with a vision-language model also parts image_url and video_url'),
  max_completion_tokens: honoured(integer, 'default: what the context has room for'),
  max_tokens: honoured(integer, 'used if max_completion_tokens is not given'),
  logprobs: honoured(flag),
  top_logprobs: honoured(integer, 'up to 20; only with logprobs'),
  tools: honoured(
    objects,
    'if the chat template uses them; calls come as tool_calls where the template says how the model writes them',
  ),
  documents: honoured(objects, 'if the chat template uses them'),
  tool_choice: refused('the model cannot be forced to call tools', 'auto', 'none'),
  parallel_tool_calls: refusedUnless(
    'the number of calls is not limited',
    '`true`; `false` without tools',
    (value, { tools }) => value === true || (value === false && !given(tools)),
  ),
  functions: refused('use tools', []),
  function_call: refused('use tools', 'none', 'auto'),
  chat_template_kwargs: honoured(object, 'variables of the template'),
  chat_template: refused('the tokenizer’s own template is used'),
  add_generation_prompt: honoured(flag),
  continue_final_message: honoured(flag),
  echo: refused('the conversation is not repeated', false),
  modalities: refused('answers are text', ['text']),
  audio: refused('answers are text'),
  reasoning_effort: refused(noReasoning),
  include_reasoning: refused(noReasoning, true),
  verbosity: refused('answers are as long as the model makes them', 'medium'),
  web_search_options: refused('nothing is searched'),
  moderation: refused('nothing is moderated'),
  return_prompt_text: refused('the prompt is given as ids, by return_token_ids', false),
  prediction: harmless('it can only make an answer faster'),
  metadata: harmless('nothing is stored'),
  store: harmless('nothing is stored'),
  service_tier: harmless('there is one tier'),
  safety_identifier: harmless('names an end user'),
  prompt_cache_key: harmless(noCaches),
  prompt_cache_options: harmless(noCaches),
  prompt_cache_retention: harmless(noCaches),
  media_io_kwargs: honoured(mediaIo, '`video.fps`: frames of each second, where a video is given as frames'),
  mm_processor_kwargs: refused('pixels are prepared as the model says', {}),
} satisfies FieldTable

export const streamOptionsFields = {
  include_usage: honoured(flag),
  continuous_usage_stats: refused('usage comes once, at the end', false),
  include_obfuscation: harmless('padding that hides the length of events'),
} satisfies FieldTable

export const generateFields = {
  model: common.model,
  request_id: common.request_id,
  token_ids: honoured(ids, 'at least one'),
  sampling_params: honoured(object, 'see below'),
  stream: common.stream,
  stream_options: common.stream_options,
  return_token_ids: common.return_token_ids,
  output_mode: refused('token ids are returned', 'tokens'),
  features: refused('images and videos are given in content_parts'),
  content_parts: honoured(
    objects,
    'images and videos, as `{"type": "image_url", "url": ...}` and `{"type": "video_url", "url": ..., "fps": ...}`',
  ),
  kv_transfer_params: common.kv_transfer_params,
  ec_transfer_params: common.ec_transfer_params,
  reasoning_parser_kwargs: refused(noReasoning),
  reasoning_ended: harmless('only for structured output, which is refused'),
  token_offsets: harmless('only for renderers of prompts'),
  cache_salt: common.cache_salt,
  priority: common.priority,
} satisfies FieldTable

/** vLLM's `SamplingParams`, in `/inference/v1/generate`. */
export const samplingParamsFields = {
  ...sampling,
  max_tokens: honoured(integer, 'default: what the context has room for'),
  logprobs: honoured(integer, 'up to 20'),
  truncate_prompt_tokens: common.truncate_prompt_tokens,
  truncation_side: common.truncation_side,
  prompt_logprob_token_ids: refused('log-probabilities are of the likeliest tokens'),
  prompt_logprob_start: refused('log-probabilities are of the whole prompt', 0),
  flat_logprobs: refused('log-probabilities come token by token', false),
  routed_experts_prompt_start: common.routed_experts_prompt_start,
  trace_decode_token_ids: refused('tokens are sampled, not given'),
  extra_args: refused('there are no extensions', {}),
  detokenize: harmless('no text is returned'),
  output_kind: harmless('stream decides how tokens are sent'),
  output_text_buffer_length: harmless('no text is returned'),
  skip_clone: harmless('internal to vLLM'),
  skip_reading_prefix_cache: harmless(noCaches),
} satisfies FieldTable

export const tokenizeFields = {
  model: common.model,
  prompt: honoured(string),
  messages: chatFields.messages,
  add_special_tokens: common.add_special_tokens,
  add_generation_prompt: chatFields.add_generation_prompt,
  continue_final_message: chatFields.continue_final_message,
  return_token_strs: honoured(flag),
  tools: chatFields.tools,
  documents: chatFields.documents,
  chat_template_kwargs: chatFields.chat_template_kwargs,
  chat_template: chatFields.chat_template,
  media_io_kwargs: chatFields.media_io_kwargs,
  mm_processor_kwargs: chatFields.mm_processor_kwargs,
} satisfies FieldTable

export const detokenizeFields = {
  model: common.model,
  tokens: honoured(ids),
} satisfies FieldTable
