/** The option `devices`: how many ranks a command has, and where each of them computes. */
import { z } from 'zod'
import { InputError } from '../errors/index.js'
import { backend, type Device, hasCollectives, resolveDevice } from '../tensor/index.js'
import type { LaunchedRank } from './environment.js'

export const devicesOption = z
  .union([z.literal('all'), z.int().min(1).max(1024), z.array(z.int().min(0).max(1023)).min(1).max(1024)], {
    error: 'expected all, a number, or a list of GPUs such as [0, 1]',
  })
  .optional()
  .describe(
    'ranks: processes of this machine that compute together. all: one for each GPU; N: the first N GPUs, or N processes that share the cores of a CPU; a list: these GPUs (default: one process)',
  )
export type Devices = NonNullable<z.output<typeof devicesOption>>

/** What configs and commands say of where they compute. */
export interface DeviceChoice {
  /** `cpu`, `cuda`, `cuda:N` or `auto`. Default `auto`. */
  readonly device?: string | undefined
  readonly devices?: Devices | undefined
}

/** Why the two options contradict each other; undefined if they do not. */
export function devicesProblem({ device = 'auto', devices }: DeviceChoice): string | undefined {
  if (devices === undefined) return undefined
  if (device.startsWith('cuda:'))
    return `devices says which GPUs the ranks have, and device says ${device} for all of them; set device to cuda, or leave devices out`
  if (device === 'cpu' && Array.isArray(devices))
    return `[${devices.join(', ')}] names GPUs, and device is cpu; give a number of processes`
  return undefined
}

/** What this machine can do. */
export interface Machine {
  readonly gpus: number
  readonly collectives: boolean
}

const thisMachine = (): Machine => ({ gpus: backend().cuda.devices.length, collectives: hasCollectives() })

/** The device of each rank, in their order; one entry for a process alone. */
export function rankDevices(choice: DeviceChoice, machine: Machine = thisMachine()): readonly [Device, ...Device[]] {
  const { device = 'auto', devices } = choice
  const problem = devicesProblem(choice)
  if (problem !== undefined) throw new InputError(`devices: ${problem}`)
  const available = { available: machine.gpus > 0, devices: new Array(machine.gpus).fill({}) }
  const kind = resolveDevice(device, available)
  if (devices === undefined) return [kind]
  const found = kind === 'cpu' ? onCpu(devices) : onGpus(devices, machine.gpus)
  if (found.length > 1 && !machine.collectives)
    throw new InputError(
      `devices: ${found.length} ranks need collectives, and this libtorch was built without c10d; leave devices out`,
      { remedy: 'Use a libtorch of PyTorch 2.4 or newer for Linux, and run `npx whetstone setup`.' },
    )
  return found as [Device, ...Device[]]
}

function onCpu(devices: Devices): Device[] {
  if (Array.isArray(devices))
    throw new InputError(`devices: [${devices.join(', ')}] names GPUs, and this machine has none`, {
      remedy: '`whetstone doctor` lists the devices. On a CPU, devices is a number of processes.',
    })
  return new Array<Device>(devices === 'all' ? 1 : devices).fill('cpu')
}

function onGpus(devices: Devices, gpus: number): Device[] {
  const remedy = '`whetstone doctor` lists the devices.'
  const has = gpus === 0 ? 'libtorch finds no GPU on this machine' : `this machine has ${gpus}`
  if (typeof devices === 'number' && devices > gpus)
    throw new InputError(`devices: ${devices} GPUs, and ${has}`, { remedy })
  const numbers = Array.isArray(devices)
    ? devices
    : Array.from({ length: devices === 'all' ? gpus : devices }, (_, index) => index)
  if (numbers.length === 0) throw new InputError(`devices: all, and ${has}`, { remedy })
  const missing = numbers.find(index => index >= gpus)
  if (missing !== undefined)
    throw new InputError(`devices: there is no GPU ${missing}: ${has}, numbered from 0`, { remedy })
  return numbers.map(index => `cuda:${index}` as Device)
}

/** How many ranks there will be, and how many of them share a device, on whatever machine it is. A launcher has decided it. */
export function plannedRanks(
  { device = 'auto', devices = 1 }: DeviceChoice,
  { gpus }: Pick<Machine, 'gpus'> = thisMachine(),
  launched?: Pick<LaunchedRank, 'size' | 'localSize'>,
): { ranks: number; sharing: number } {
  const onGpus = device === 'auto' ? gpus > 0 : device !== 'cpu'
  if (launched) {
    const { size, localSize } = launched
    if (!onGpus) return { ranks: size, sharing: localSize }
    return { ranks: size, sharing: gpus === 0 || hasOwnGpu({ gpus, localSize }) ? 1 : Math.ceil(localSize / gpus) }
  }
  if (Array.isArray(devices)) {
    const counts = devices.map(one => devices.filter(other => other === one).length)
    return { ranks: devices.length, sharing: Math.max(...counts) }
  }
  const ranks = devices === 'all' ? (onGpus ? Math.max(1, gpus) : 1) : devices
  return { ranks, sharing: onGpus ? 1 : ranks }
}

/** With one visible GPU and several ranks, the launcher shows each rank its own. */
export const hasOwnGpu = ({ gpus, localSize }: { gpus: number; localSize: number }): boolean =>
  gpus >= localSize || (gpus === 1 && process.env.CUDA_VISIBLE_DEVICES !== undefined)

/** What carries the collectives of such ranks: NCCL refuses two of them on one GPU. */
export const backendOf = (devices: readonly Device[]): 'gloo' | 'nccl' =>
  !devices.includes('cpu') && new Set(devices).size === devices.length ? 'nccl' : 'gloo'
