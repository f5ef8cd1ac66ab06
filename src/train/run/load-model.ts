/** Models of a training as a config describes them. */
import { DistributedModel, type Ranks } from '../../distributed/index.js'
import { InputError } from '../../errors/index.js'
import { type FreezeVision, type LoadOptions, LocalModel, type Role, type TokenModel } from '../../model/index.js'
import type { Report } from '../../progress/index.js'
import type { RewardModelPlace } from '../../reward/index.js'
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

/** A model that was loaded: of this process, or with a copy on every rank. */
export type LoadedModel<R extends Role = Role> = LocalModel<R> | DistributedModel<R>

/** The part of a model that is in this process; undefined for another implementation. */
export function copyHere<R extends Role>(model: TokenModel<R>): LocalModel<R> | undefined {
  if (model instanceof DistributedModel) return model.local as LocalModel<R>
  return model instanceof LocalModel ? (model as LocalModel<R>) : undefined
}

/** Where a model computes, as far as this process knows. */
export const deviceOf = (model: TokenModel): Device => copyHere(model)?.device ?? 'cpu'

/** Becomes a moving average of another model, on every rank. */
export function averageOver<R extends Role>(
  average: LoadedModel<R>,
  other: TokenModel<R>,
  decay: number,
): Promise<void> {
  if (average instanceof DistributedModel && other instanceof DistributedModel) return average.average(other, { decay })
  if (average instanceof LocalModel && other instanceof LocalModel) return average.average(other, { decay })
  throw new InputError('emaDecay: the trained model is not a model of this process; leave it out')
}

export interface LoadContext {
  /** The ranks that get a copy of each model. Default: this process alone. */
  readonly ranks?: Ranks | undefined
  readonly report: Report
  readonly signal: AbortSignal
}

/** A model to train: its adapter, if any, is new or continues. Norms and biases do not decay. */
export function loadTrained<R extends Role>(
  directory: string,
  options: ModelSettings & { role: R; what: string; optimizer: OptimizerConfig; freezeBackbone?: boolean },
  context: LoadContext,
): Promise<LoadedModel<R>> {
  const { lora, adapter, seed, optimizer, freezeBackbone = false, freezeVision } = options
  const { betas, eps, weightDecay, masters, shard } = optimizer
  return load(directory, options, context, {
    seed,
    freezeBackbone,
    ...(freezeVision && { freezeVision }),
    gradientCheckpointing: options.gradientCheckpointing,
    optimizer: { betas, eps, weightDecay, masters, shard, noDecay: ['norm', 'bias'] },
    ...(adapter === undefined ? {} : { adapter }),
    ...(lora === undefined || adapter !== undefined ? {} : { adapter: { ...lora, seed } }),
  })
}

/** A model that only scores, with an adapter where it has one. */
export function loadFrozen<R extends Role>(
  directory: string,
  options: ModelSettings & { role: R; what: string },
  context: LoadContext,
): Promise<LoadedModel<R>> {
  const { adapter } = options
  return load(directory, options, context, adapter === undefined ? {} : { adapter })
}

/** Loads reward models where the run's models are. */
export function rewardModelLoader(settings: Pick<ModelSettings, 'device'>, context: LoadContext) {
  return (directory: string, { dtype, adapter }: RewardModelPlace): Promise<LoadedModel<'reward'>> => {
    const own = { device: settings.device, gradientCheckpointing: false, seed: 0, adapter }
    const known = dtype === 'float32' || dtype === 'bfloat16' || dtype === 'float16' ? dtype : undefined
    return loadFrozen(directory, { ...own, dtype: known, role: 'reward', what: 'the reward model' }, context)
  }
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
  { ranks, report, signal }: LoadContext,
  rest: LoadOptions<R>,
): Promise<LoadedModel<R>> {
  const world = await ranks?.world(signal)
  const loading = report.transfer(`loading ${what}`)
  try {
    const options: LoadOptions<R> = {
      role,
      signal,
      ...(dtype === undefined ? {} : { dtype }),
      ...(texts === undefined ? {} : { texts }),
      ...(residualDtype === undefined ? {} : { residualDtype }),
      ...(tokenBudget === undefined ? {} : { tokenBudget }),
      ...(patchBudget === undefined ? {} : { patchBudget }),
      onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
      ...rest,
    }
    if (world) return await DistributedModel.load<R>(world, directory, options)
    return await LocalModel.load<R>(directory, { ...options, device: ranks?.device ?? resolveDevice(device) })
  } finally {
    loading.end()
  }
}
