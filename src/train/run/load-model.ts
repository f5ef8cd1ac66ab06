/** Models of a training as a config describes them. */
import { InputError } from '../../errors/index.js'
import { type FreezeVision, LocalModel, type Role, type TokenModel } from '../../model/index.js'
import type { Report } from '../../progress/index.js'
import { type Device, resolveDevice } from '../../tensor/index.js'
import type { LoraConfig, OptimizerConfig } from '../config/common.js'

/** What a config says of how models compute. */
interface ModelSettings {
  readonly device: string
  readonly dtype?: 'float32' | 'bfloat16' | 'float16' | undefined
  readonly residualDtype?: 'float32' | undefined
  readonly lora?: LoraConfig | undefined
  readonly adapter?: string | undefined
  /** The directory whose tokenizer and generation config an export gets. Default: the model's own. */
  readonly texts?: string | undefined
  readonly gradientCheckpointing: boolean
  readonly tokenBudget?: number | undefined
  readonly patchBudget?: number | undefined
  readonly freezeVision?: FreezeVision | undefined
  readonly seed: number
}

/** A model of a program, which has to be of the role that it takes. */
export function ofRole<R extends Role>(model: TokenModel, role: R, option: string): TokenModel<R> {
  if (model.role === role) return model as TokenModel<R>
  throw new InputError(`${option}: expected a ${role} model, got a ${model.role} model; load it with role: '${role}'`)
}

/** Where a model computes, as far as this process knows. */
export const deviceOf = (model: TokenModel): Device => (model instanceof LocalModel ? model.device : 'cpu')

export interface LoadContext {
  readonly report: Report
  readonly signal: AbortSignal
}

/** A model to train: its adapter, if any, is new or continues. Norms and biases do not decay. */
export function loadTrained<R extends Role>(
  directory: string,
  options: ModelSettings & { role: R; what: string; optimizer: OptimizerConfig; freezeBackbone?: boolean },
  context: LoadContext,
): Promise<LocalModel<R>> {
  const { lora, adapter, seed, optimizer, freezeBackbone = false, freezeVision } = options
  const { betas, eps, weightDecay, masters } = optimizer
  return load(directory, options, context, {
    seed,
    freezeBackbone,
    ...(freezeVision && { freezeVision }),
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
  {
    role,
    what,
    device,
    dtype,
    residualDtype,
    tokenBudget,
    patchBudget,
    texts,
  }: ModelSettings & { role: R; what: string },
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
      ...(patchBudget === undefined ? {} : { patchBudget }),
      onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
      ...rest,
    })
  } finally {
    loading.end()
  }
}
