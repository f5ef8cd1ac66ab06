/** Arguments and environment of a server that a trainer uses. Pure. */

export type EngineType = 'vllm' | 'sglang'

export interface EngineSettings {
  readonly type: EngineType
  /** A Hugging Face model directory. */
  readonly model: string
  /** The model's name in requests. */
  readonly name: string
  readonly host: string
  readonly port: number
  /** `cpu`: without a GPU. Undefined: the server's default. */
  readonly device?: 'cpu' | undefined
  readonly dtype?: string | undefined
  /** Most tokens of prompt and response together. Default: the model's. */
  readonly maxLength?: number | undefined
  /** Highest rank of the adapters that will be loaded. Undefined: no adapters. */
  readonly loraRank?: number | undefined
  /** Its share of the GPU's memory, 0 to 1. */
  readonly memoryShare?: number | undefined
  /** `enabled`: it can free the GPU's memory for a trainer on the same card. */
  readonly sleep?: 'enabled' | undefined
  /** Further arguments, after all others: the last one of a name counts. */
  readonly flags?: readonly string[] | undefined
}

interface Invocation {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Models are local directories: disable downloads and usage reports. */
const common = { HF_HUB_OFFLINE: '1', DO_NOT_TRACK: '1' }

export function engineInvocation(settings: EngineSettings): Invocation {
  return settings.type === 'vllm' ? vllm(settings) : sglang(settings)
}

function vllm(settings: EngineSettings): Invocation {
  const { loraRank, device } = settings
  const args = [
    ...['serve', settings.model, '--served-model-name', settings.name],
    ...['--host', settings.host, '--port', String(settings.port)],
    // Sampling parameters come from requests, not from the model's generation_config.json.
    ...['--generation-config', 'vllm'],
    // Importance ratios need the distribution that tokens were drawn from.
    ...['--logprobs-mode', 'processed_logprobs'],
    // Tokens in, tokens out: /inference/v1/generate.
    '--enable-scale-out',
    // Videos: all frames of a request, and the frame rate that it says. Otherwise the first 32, as one frame of a second.
    ...['--media-io-kwargs', '{"video":{"num_frames":-1}}', '--trust-request-mm-kwargs'],
    '--disable-uvicorn-access-log',
    ...option('--dtype', settings.dtype),
    ...option('--max-model-len', settings.maxLength),
    ...option('--gpu-memory-utilization', settings.memoryShare),
    ...(settings.sleep === 'enabled' ? ['--enable-sleep-mode'] : []),
    // Two: during an update, some responses still come from the previous adapter.
    ...(loraRank === undefined
      ? []
      : ['--enable-lora', '--max-loras', '2', ...option('--max-lora-rank', rankSlot(loraRank))]),
    // Without a limit vLLM takes most of the machine's memory for its KV cache.
    ...(device === 'cpu' ? ['--enforce-eager', '--kv-cache-memory-bytes', String(2 ** 28)] : []),
    ...(settings.flags ?? []),
  ]
  const env = {
    ...common,
    VLLM_NO_USAGE_STATS: '1',
    // Pause, update of weights, sleep.
    VLLM_SERVER_DEV_MODE: '1',
    ...(loraRank === undefined ? {} : { VLLM_ALLOW_RUNTIME_LORA_UPDATING: '1' }),
    // Otherwise it looks for a route to the internet to find its address.
    ...(isLoopback(settings.host) ? { VLLM_HOST_IP: '127.0.0.1' } : {}),
    // Otherwise the first request with log-probabilities compiles a kernel, also in eager mode.
    ...(device === 'cpu' ? { TORCHDYNAMO_DISABLE: '1' } : {}),
  }
  return { args, env }
}

function sglang(settings: EngineSettings): Invocation {
  const { loraRank, device } = settings
  const args = [
    ...['--model-path', settings.model, '--served-model-name', settings.name],
    ...['--host', settings.host, '--port', String(settings.port)],
    ...['--sampling-defaults', 'openai'],
    // Otherwise every event repeats all tokens before it.
    '--incremental-streaming-output',
    ...['--log-level-http', 'warning'],
    ...option('--dtype', settings.dtype),
    ...option('--context-length', settings.maxLength),
    ...option('--mem-fraction-static', settings.memoryShare),
    ...(settings.sleep === 'enabled' ? ['--enable-memory-saver'] : []),
    ...(loraRank === undefined
      ? []
      : ['--enable-lora', '--lora-target-modules', 'all', '--max-lora-rank', String(loraRank)]),
    ...(loraRank !== undefined && device === 'cpu' ? ['--lora-backend', 'torch_native'] : []),
    // Without a limit the KV cache takes the machine's free memory.
    ...(device === 'cpu' ? ['--device', 'cpu', '--max-total-tokens', '16384'] : []),
    ...(settings.flags ?? []),
  ]
  const env = {
    ...common,
    // Otherwise a server that is told to end first writes diagnoses, for up to a minute.
    SGLANG_PYSPY_DUMP_BEFORE_CRASH: '0',
    SGLANG_CUDA_COREDUMP_BEFORE_CRASH: '0',
    // It would keep the features of images over an update of the tower's weights.
    SGLANG_VLM_CACHE_SIZE_MB: '0',
    ...(device === 'cpu' ? { SGLANG_USE_CPU_ENGINE: '1', TORCHDYNAMO_DISABLE: '1' } : {}),
  }
  return { args, env }
}

const option = (name: string, value: string | number | undefined): string[] =>
  value === undefined ? [] : [name, String(value)]

/** vLLM supports only these ranks; an adapter of a lower rank fits a higher one. */
const rankSlots = [1, 8, 16, 32, 64, 128, 256, 320, 512]
const rankSlot = (rank: number): number => rankSlots.find(slot => slot >= rank) ?? rank

export const isLoopback = (host: string): boolean => ['127.0.0.1', '::1', 'localhost'].includes(host)

/** The route that tells whether the server is ready, without generating. */
export const readyPath = (type: EngineType): string => (type === 'vllm' ? '/health' : '/ready')
