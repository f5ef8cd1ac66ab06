/** What SGLang 0.5.23 says of itself, as far as a client may want to know it. Pure. */

export type SglangFlag =
  | 'enable-deterministic-inference'
  | 'enable-memory-saver'
  | 'enable-weights-cpu-backup'
  | 'incremental-streaming-output'
  | 'skip-tokenizer-init'
  | 'disable-lora'
  | 'no-weight-names'
  | 'no-grammar'

/** An update changes what it calls its model, but not its tokenizer. */
export const modelInfo = (path: string, marker: string): unknown => ({
  model_path: path,
  served_model_name: path,
  tokenizer_path: '/models/toy',
  is_generation: true,
  preferred_sampling_params: null,
  weight_version: marker,
  load_format: 'auto',
  reasoning_parser: null,
  tool_call_parser: null,
  disaggregation_mode: 'null',
  has_image_understanding: false,
  has_audio_understanding: false,
  model_type: 'qwen2',
  architectures: ['Qwen2ForCausalLM'],
})

export interface ServerState {
  readonly path: string
  readonly marker: string
  readonly context: number
  readonly version: string
  readonly flags: readonly SglangFlag[]
  readonly dtype: string
}

export function serverInfo({ path, marker, context, version, flags, dtype }: ServerState): unknown {
  const has = (flag: SglangFlag): boolean => flags.includes(flag)
  return {
    model_path: path,
    tokenizer_path: '/models/toy',
    skip_tokenizer_init: has('skip-tokenizer-init'),
    dtype,
    quantization: null,
    disable_overlap_schedule: true,
    random_seed: 1,
    served_model_name: path,
    weight_version: marker,
    sampling_defaults: 'model',
    incremental_streaming_output: has('incremental-streaming-output'),
    grammar_backend: has('no-grammar') ? 'none' : 'xgrammar',
    enable_lora: !has('disable-lora'),
    max_lora_rank: 8,
    enable_deterministic_inference: has('enable-deterministic-inference'),
    enable_memory_saver: has('enable-memory-saver'),
    enable_weights_cpu_backup: has('enable-weights-cpu-backup'),
    status: 'ready',
    max_total_num_tokens: 8192,
    max_req_input_len: context - 6,
    version,
  }
}

export function modelList(path: string, context: number, adapters: ReadonlyMap<string, { path: string }>): unknown {
  const created = Math.floor(Date.now() / 1000)
  const model = (id: string, root: string, parent: string | null, max_model_len: number | null): object => ({
    id,
    object: 'model',
    created,
    owned_by: 'sglang',
    root,
    parent,
    max_model_len,
  })
  const loaded = [...adapters].map(([name, adapter]) => model(name, adapter.path, path, null))
  return { object: 'list', data: [model(path, path, null, context), ...loaded] }
}
