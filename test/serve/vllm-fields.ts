/**
 * The fields of vLLM 0.32.0's request types, as its source declares them, private ones left out; and fields of earlier
 * versions that clients still send. A newer version's list is made by reading the annotations of these classes.
 */
export const completionRequest =
  'model prompt echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty seed stop stream stream_options suffix temperature top_p user use_beam_search top_k min_p repetition_penalty watermarking length_penalty stop_token_ids include_stop_str_in_output ignore_eos min_tokens skip_special_tokens spaces_between_special_tokens truncate_prompt_tokens truncation_side allowed_token_ids prompt_logprobs logprob_token_ids bad_words prompt_embeds add_special_tokens response_format structured_outputs priority request_id session_id return_tokens_as_token_ids return_token_ids routed_experts_prompt_start return_token_offsets mm_payload return_mm_kwargs cache_salt kv_transfer_params ec_transfer_params vllm_xargs repetition_detection thinking_token_budget stream_interval'.split(
    ' ',
  )

export const chatCompletionRequest =
  'messages model frequency_penalty logit_bias logprobs top_logprobs max_tokens max_completion_tokens n presence_penalty response_format seed stop stream stream_options temperature top_p tools tool_choice reasoning_effort thinking_token_budget include_reasoning parallel_tool_calls user use_beam_search top_k min_p repetition_penalty watermarking length_penalty stop_token_ids include_stop_str_in_output ignore_eos min_tokens skip_special_tokens spaces_between_special_tokens truncate_prompt_tokens truncation_side prompt_logprobs logprob_token_ids allowed_token_ids bad_words echo add_generation_prompt continue_final_message add_special_tokens documents chat_template chat_template_kwargs media_io_kwargs mm_processor_kwargs structured_outputs priority request_id session_id return_tokens_as_token_ids return_token_ids routed_experts_prompt_start return_token_offsets return_prompt_text mm_payload return_mm_kwargs cache_salt kv_transfer_params ec_transfer_params vllm_xargs repetition_detection stream_interval'.split(
    ' ',
  )

export const generateRequest =
  'request_id token_ids token_offsets features content_parts sampling_params model reasoning_ended reasoning_parser_kwargs return_token_ids output_mode stream stream_options cache_salt priority kv_transfer_params ec_transfer_params'.split(
    ' ',
  )

export const samplingParams =
  'n presence_penalty frequency_penalty repetition_penalty temperature watermarking top_p top_k min_p seed stop stop_token_ids ignore_eos max_tokens min_tokens logprobs prompt_logprobs prompt_logprob_token_ids prompt_logprob_start logprob_token_ids flat_logprobs detokenize skip_special_tokens spaces_between_special_tokens include_stop_str_in_output output_kind stream_interval skip_clone output_text_buffer_length structured_outputs logit_bias allowed_token_ids extra_args bad_words skip_reading_prefix_cache thinking_token_budget repetition_detection routed_experts_prompt_start trace_decode_token_ids'.split(
    ' ',
  )

export const streamOptions = 'include_usage continuous_usage_stats'.split(' ')

export const tokenizeCompletionRequest = 'model prompt add_special_tokens return_token_strs'.split(' ')

export const tokenizeChatRequest =
  'model messages add_generation_prompt return_token_strs continue_final_message add_special_tokens chat_template chat_template_kwargs media_io_kwargs mm_processor_kwargs tools'.split(
    ' ',
  )

export const detokenizeRequest = 'model tokens'.split(' ')

/** Of `CompletionRequest` and `ChatCompletionRequest` before 0.12. */
export const retired =
  'best_of early_stopping guided_json guided_regex guided_choice guided_grammar guided_decoding_backend guided_whitespace_pattern structural_tag'.split(
    ' ',
  )
