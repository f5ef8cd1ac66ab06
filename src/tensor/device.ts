/** The machine as libtorch sees it: devices, threads, memory, streams. */
import { freemem } from 'node:os'
import { mailbox } from './call.js'
import { type Device, parseDevice } from './dtype.js'
import { DeviceError, fromNative } from './errors.js'
import { native } from './native.js'

export interface CudaDevice {
  name: string
  totalBytes: number
  /** Compute capability, as `9.0`. */
  capability: string
  multiprocessors: number
}

interface Backend {
  libtorchVersion: string
  operatorCount: number
  threads: number
  /** libtorch's own account of how it was built: BLAS, OpenMP, instruction sets. */
  config: string
  cuda: {
    available: boolean
    graphs: boolean
    devices: CudaDevice[]
  }
}

export function backend(): Backend {
  const { libtorchVersion, operatorCount, config, cuda, graphs, devices } = native.machine()
  return {
    libtorchVersion,
    operatorCount,
    threads: native.threads(),
    config,
    cuda: {
      available: cuda !== 0,
      graphs: graphs !== 0,
      devices: devices.map(({ name, totalBytes, capability, multiprocessors }) => ({
        name,
        totalBytes,
        capability: capability.toFixed(1),
        multiprocessors,
      })),
    },
  }
}

/** How many threads an operator may use on the CPU; answers with the number in force. */
export function threads(count?: number): number {
  try {
    return count === undefined ? native.threads() : native.threads(count)
  } catch (thrown) {
    throw fromNative(thrown)
  }
}

/** They stay what they are, and asking for them takes a millisecond. */
let cudaDevices: readonly CudaDevice[] | undefined

/** Undefined for the CPU, and where there is no such device. */
export function cudaDevice(device: Device): CudaDevice | undefined {
  if (device === 'cpu') return undefined
  cudaDevices ??= backend().cuda.devices
  return cudaDevices[Math.max(0, parseDevice(device).index)]
}

/** What configs and commands take for a device; {@link resolveDevice} says which one it is. */
export const devicePattern = /^(auto|cpu|cuda(:\d{1,3})?)$/
export const expectedDevice = 'expected auto, cpu, cuda or cuda:N'

/** `auto` is the GPU where libtorch and a driver have one. Every other word is itself. */
export function resolveDevice(
  device: string,
  { available, devices }: Pick<Backend['cuda'], 'available' | 'devices'> = backend().cuda,
): Device {
  if (device !== 'auto') return device as Device
  return available && devices.length > 0 ? 'cuda' : 'cpu'
}

/**
 * The device itself, where this machine has it; a {@link DeviceError} where it does not. Asked before anything is loaded:
 * libtorch's own answer is a hundred lines long.
 */
export function requireDevice(
  device: Device,
  { available, devices }: { available: boolean; devices: readonly unknown[] } = device === 'cpu'
    ? noCuda
    : backend().cuda,
): Device {
  if (device === 'cpu') return device
  const remedy = '`whetstone doctor` lists the devices. Use `auto` for a GPU if the machine has one, else the CPU.'
  if (!available || devices.length === 0)
    throw new DeviceError(`there is no ${device} on this machine: libtorch finds no usable CUDA device`, { remedy })
  if (Math.max(0, parseDevice(device).index) >= devices.length)
    throw new DeviceError(`there is no ${device} on this machine: the devices are ${deviceRange(devices.length)}`, {
      remedy,
    })
  return device
}

const noCuda = { available: false, devices: [] } as const

const deviceRange = (count: number): string => (count === 1 ? 'cuda:0 alone' : `cuda:0 to cuda:${count - 1}`)

interface MemoryUse {
  /** Held now and at most since the last reset, by anything: tensors, saved activations, operators' temporaries. */
  bytes: number
  peakBytes: number
  /** What the device's allocator keeps from the system; on the CPU the same as `bytes`. */
  reservedBytes: number
  /** Handles this JavaScript thread holds, on all devices. */
  liveTensors: number
  peakTensors: number
}

export function memoryUse(device: Device = 'cpu', options: { resetPeak?: boolean } = {}): MemoryUse {
  const { type, index } = parseDevice(device)
  try {
    native.memory(type, index, options.resetPeak ?? false)
  } catch (thrown) {
    throw fromNative(thrown)
  }
  const [bytes, peakBytes, reservedBytes, liveTensors, peakTensors] = mailbox() as unknown as [
    number,
    number,
    number,
    number,
    number,
  ]
  return { bytes, peakBytes, reservedBytes, liveTensors, peakTensors }
}

/** Bytes of a device that this process can still take. Memory of other programs is not free; what the allocator keeps is. */
export function freeMemory(device: Device): number {
  const { type, index } = parseDevice(device)
  if (device === 'cpu') return freemem()
  try {
    const free = native.freeMemory(type, index)
    return free < 0 ? Math.max(0, (cudaDevice(device)?.totalBytes ?? 0) - memoryUse(device).bytes) : free
  } catch (thrown) {
    throw fromNative(thrown)
  }
}

/** Resolves when everything started on the device has finished. */
export async function synchronize(device: Device = 'cuda'): Promise<void> {
  const { type, index } = parseDevice(device)
  try {
    await native.synchronize(type, index)
  } catch (thrown) {
    throw fromNative(thrown)
  }
}

/** A queue of a CUDA device. Work on different streams may overlap; `waitFor` orders it. */
export class Stream {
  private readonly ref: number

  constructor(device: Device = 'cuda') {
    const { type, index } = parseDevice(device)
    try {
      this.ref = native.newStream(type, index)
    } catch (thrown) {
      throw fromNative(thrown)
    }
  }

  /** Runs `fn` with its eager operators on this stream. */
  use<T>(fn: () => T): T {
    const before = native.useStream(this.ref)
    try {
      return fn()
    } finally {
      native.useStream(before)
    }
  }

  /** What comes next here starts after what was started on `other`. */
  waitFor(other: Stream): void {
    try {
      native.streamWaits(this.ref, other.ref)
    } catch (thrown) {
      throw fromNative(thrown)
    }
  }
}
