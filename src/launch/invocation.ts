/** What a server is started with so that a trainer can use it: arguments and environment. Pure. */

export type EngineType = 'vllm' | 'sglang'

export interface EngineSettings {
  readonly type: EngineType
  /** A Hugging Face model directory. */
  readonly model: string
  /** What requests call the model. */
  readonly name: string
  readonly host: string
  readonly port: number
  /** `cpu`: without a GPU. Undefined: the server's own choice. */
  readonly device?: 'cpu' | undefined
  readonly dtype?: string | undefined
  /** Tokens a prompt and its response may have together. Default: the model's own. */
  readonly maxLength?: number | undefined
  /** The highest rank of adapters that will be loaded. Undefined: none will. */
  readonly loraRank?: number | undefined
  /** How much of the GPU's memory it takes, 0 to 1. */
  readonly memoryShare?: number | undefined
  /** `enabled`: it can give the GPU's memory to a trainer on the same card, and take it back. */
  readonly sleep?: 'enabled' | undefined
  /** Further arguments, behind all others: the last one of a name counts. */
  readonly flags?: readonly string[] | undefined
}

export interface Invocation {
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
    // Sampling parameters come from requests alone, not from the model's generation_config.json.
    ...['--generation-config', 'vllm'],
    // Of the distribution that tokens were drawn from, as importance ratios need them.
    ...['--logprobs-mode', 'processed_logprobs'],
    // Tokens in, tokens out: /inference/v1/generate.
    '--enable-scale-out',
    '--disable-uvicorn-access-log',
    ...option('--dtype', settings.dtype),
    ...option('--max-model-len', settings.maxLength),
    ...option('--gpu-memory-utilization', settings.memoryShare),
    ...(settings.sleep === 'enabled' ? ['--enable-sleep-mode'] : []),
    // Two: while an update is under way, some responses still come from the adapter before it.
    ...(loraRank === undefined
      ? []
      : ['--enable-lora', '--max-loras', '2', ...option('--max-lora-rank', rankSlot(loraRank))]),
    // Without a bound vLLM takes most of the machine's memory for keys and values.
    ...(device === 'cpu' ? ['--enforce-eager', '--kv-cache-memory-bytes', String(2 ** 28)] : []),
    ...(settings.flags ?? []),
  ]
  const env = {
    ...common,
    VLLM_NO_USAGE_STATS: '1',
    // Pausing, changing weights, sleeping.
    VLLM_SERVER_DEV_MODE: '1',
    ...(loraRank === undefined ? {} : { VLLM_ALLOW_RUNTIME_LORA_UPDATING: '1' }),
    // Else it looks for an address by a route to the internet, which not every machine has.
    ...(isLoopback(settings.host) ? { VLLM_HOST_IP: '127.0.0.1' } : {}),
    // Else the first request with log-probabilities compiles a kernel, eager or not.
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
    // Streams grow by what is new; else every event repeats all before it.
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
    // Without a bound the pool of keys and values is sized by the machine's free memory.
    ...(device === 'cpu' ? ['--device', 'cpu', '--max-total-tokens', '16384'] : []),
    ...(settings.flags ?? []),
  ]
  const env = {
    ...common,
    // A server that is told to end would first write diagnoses, for up to a minute.
    SGLANG_PYSPY_DUMP_BEFORE_CRASH: '0',
    SGLANG_CUDA_COREDUMP_BEFORE_CRASH: '0',
    ...(device === 'cpu' ? { SGLANG_USE_CPU_ENGINE: '1', TORCHDYNAMO_DISABLE: '1' } : {}),
  }
  return { args, env }
}

const option = (name: string, value: string | number | undefined): string[] =>
  value === undefined ? [] : [name, String(value)]

/** vLLM knows these ranks alone; a smaller adapter fits a larger one's place. */
const rankSlots = [1, 8, 16, 32, 64, 128, 256, 320, 512]
const rankSlot = (rank: number): number => rankSlots.find(slot => slot >= rank) ?? rank

export const isLoopback = (host: string): boolean => ['127.0.0.1', '::1', 'localhost'].includes(host)

/** Where it says whether it takes requests: cheap, and without generating. */
export const readyPath = (type: EngineType): string => (type === 'vllm' ? '/health' : '/ready')
