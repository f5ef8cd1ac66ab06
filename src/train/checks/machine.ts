/** Checks that this machine can run the training: its devices exist, and each model fits its device. */
import { totalmem } from 'node:os'
import { launchedRank, rankDevices } from '../../distributed/index.js'
import { type ErrorCode, InputError } from '../../errors/index.js'
import { cudaDevice, type Device, DeviceError, requireDevice } from '../../tensor/index.js'
import type { CheckedModel, CheckedModels } from './check-plan.js'
import { keptBytes } from './memory-estimate.js'

/** The models are valid, but this machine cannot run them. */
export class MachineError extends InputError {
  static override readonly code: ErrorCode = 'WHETSTONE_MACHINE'
  override name = 'MachineError'

  constructor(
    message: string,
    /** For a dry run, which shows the memory for any machine. */
    readonly checked: CheckedModels,
    options: { remedy: string; cause?: unknown },
  ) {
    super(message, options)
  }
}

/** Bytes that a device has; undefined where it is not on this machine. A container may have less than its machine. */
export function deviceMemory(device: Device): number | undefined {
  if (device !== 'cpu') return cudaDevice(device)?.totalBytes
  const limit = process.constrainedMemory()
  return limit > 0 ? Math.min(totalmem(), limit) : totalmem()
}

/** Throws a {@link MachineError} if a device is missing, or if a model alone is larger than its device. */
export function requireMachine(checked: CheckedModels): void {
  for (const { use, memory } of checked.models)
    try {
      requireDevice(memory.device)
    } catch (cause) {
      if (!(cause instanceof DeviceError)) throw cause
      const option = memory.device === checked.device ? 'device' : use.option
      throw new MachineError(`${option}: ${cause.message}`, checked, { cause, remedy: cause.remedy! })
    }
  requireRanks(checked)
  for (const model of checked.models) requireRoom(model, checked)
}

/** Each rank has a device, and this libtorch has what they communicate with. */
function requireRanks(checked: CheckedModels): void {
  if (launchedRank(process.env)) return
  try {
    rankDevices(checked.choice)
  } catch (cause) {
    if (!(cause instanceof InputError)) throw cause
    throw new MachineError(cause.message, checked, { cause, remedy: cause.remedy ?? '' })
  }
}

/** Permanent memory of a model. Activations are only estimated and must not stop a training. */
function requireRoom(model: CheckedModel, checked: CheckedModels): void {
  const { use, memory } = model
  const kept = (keptBytes(memory) + memory.gradients) * (memory.device === checked.device ? checked.sharing : 1)
  const available = deviceMemory(memory.device)
  if (available === undefined || kept <= available) return
  const { option, what } = causeOf(model)
  throw new MachineError(
    `${option}: ${what} takes ${gigabytes(kept)} for ${use.trained === 'nothing' ? 'weights' : 'weights, gradients and optimiser state'}, and ${memory.device === 'cpu' ? 'this machine' : memory.device} has ${gigabytes(available)}`,
    checked,
    { remedy: 'docs/out-of-memory.md explains each option.' },
  )
}

/** The adapter, where it has more weights than the model. */
function causeOf({ use, parameters, memory }: CheckedModel): { option: string; what: string } {
  const share = parameters / Math.max(parameters, memory.parameters)
  if (typeof use.adapter === 'object' && share < 0.5)
    return { option: 'lora.rank', what: `${use.name} with an adapter of rank ${use.adapter.rank}` }
  return { option: use.option, what: use.name }
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toLocaleString('en', { maximumFractionDigits: 1 })} GB`
