/** Models of a training as a config describes them. */
import { LocalModel, type Role } from '../../model/index.js'
import type { Report } from '../../progress/index.js'
import { resolveDevice } from '../../tensor/index.js'
import type { LoraConfig, OptimizerConfig } from '../config/common.js'

/** What a config says of how models compute. */
export interface ModelSettings {
  readonly device: string
  readonly dtype?: 'float32' | 'bfloat16' | 'float16' | undefined
  readonly residualDtype?: 'float32' | undefined
  readonly lora?: LoraConfig | undefined
  readonly adapter?: string | undefined
  /** The directory whose tokenizer and generation config an export gets. Default: the model's own. */
  readonly texts?: string | undefined
  readonly gradientCheckpointing: boolean
  readonly tokenBudget?: number | undefined
  readonly seed: number
}

export interface LoadContext {
  readonly report: Report
  readonly signal: AbortSignal
}

/** A model that is trained: its adapter, where the config asks for one, is new or goes on. Norms and biases do not decay. */
export function loadTrained<R extends Role>(
  directory: string,
  options: ModelSettings & { role: R; what: string; optimizer: OptimizerConfig; freezeBackbone?: boolean },
  context: LoadContext,
): Promise<LocalModel<R>> {
  const { lora, adapter, seed, optimizer, freezeBackbone = false } = options
  const { betas, eps, weightDecay, masters } = optimizer
  return load(directory, options, context, {
    seed,
    freezeBackbone,
    gradientCheckpointing: options.gradientCheckpointing,
    optimizer: { betas, eps, weightDecay, masters, noDecay: ['norm', 'bias'] },
    ...(adapter === undefined ? {} : { adapter }),
    ...(lora === undefined || adapter !== undefined ? {} : { adapter: { ...lora, seed } }),
  })
}

/** A model that only scores, with an adapter where it has one. */
export function loadFrozen<R extends Role>(
  directory: string,
  options: ModelSettings & { role: R; what: string },
  context: LoadContext,
): Promise<LocalModel<R>> {
  const { adapter } = options
  return load(directory, options, context, adapter === undefined ? {} : { adapter })
}

async function load<R extends Role>(
  directory: string,
  { role, what, device, dtype, residualDtype, tokenBudget, texts }: ModelSettings & { role: R; what: string },
  { report, signal }: LoadContext,
  rest: Parameters<typeof LocalModel.load<R>>[1],
): Promise<LocalModel<R>> {
  const loading = report.transfer(`loading ${what}`)
  try {
    return await LocalModel.load<R>(directory, {
      role,
      device: resolveDevice(device),
      signal,
      ...(dtype === undefined ? {} : { dtype }),
      ...(texts === undefined ? {} : { texts }),
      ...(residualDtype === undefined ? {} : { residualDtype }),
      ...(tokenBudget === undefined ? {} : { tokenBudget }),
      onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
      ...rest,
    })
  } finally {
    loading.end()
  }
}
