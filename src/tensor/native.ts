import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { provideWatchdog, type WatchdogNative } from '../watchdog/index.js'
import { BridgeMissingError } from './errors.js'

/** What `native/collectives.cc` defines; nothing of it where libtorch has no c10d. */
export interface CollectivesNative {
  openStore(host: string, port: number, serve: boolean, limitMs: number): Promise<Float64Array>
  storeSet(store: number, key: string, value: Uint8Array): Promise<Float64Array>
  storeGet(store: number, key: string, limitMs: number): Promise<Float64Array>
  storeCheck(store: number, key: string): Promise<Float64Array>
  storeAdd(store: number, key: string, by: number): Promise<Float64Array>
  storeDelete(store: number, key: string): Promise<Float64Array>
  joinGloo(
    store: number,
    name: string,
    rank: number,
    size: number,
    limitMs: number,
    host: string,
  ): Promise<Float64Array>
  joinNccl(
    store: number,
    name: string,
    rank: number,
    size: number,
    limitMs: number,
    device: number,
  ): Promise<Float64Array>
  collective(group: number, what: number, target: number, source: number, root: number): Promise<Float64Array>
  abortLink(group: number): void
  releaseLink(link: number): void
}

/** What `native/pulse.cc` defines. */
interface PulseNative {
  pulseServe(host: string, token: string, limitMs: number, onEvent: PulseListener): number
  pulseJoin(host: string, port: number, token: string, rank: number, limitMs: number, onEvent: PulseListener): number
  pulsePort(pulse: number): number
  pulseTick(pulse: number): void
  pulseSay(pulse: number, words: string): void
  pulseLook(pulse: number, rank: number): string
  pulseClose(pulse: number, reason: string): void
  endWithParent(): number
}

/** `closed`, `silent`, `stuck`, `failed`: a rank is lost, and how. `words`: lines of its standard error. */
export type PulseListener = (
  event: 'closed' | 'silent' | 'stuck' | 'failed' | 'words',
  rank: number,
  text: string,
) => void

/** The addon's functions, as `native/*.cc` define them. A `ref` is a handle; the mailbox carries everything else. */
interface Native extends WatchdogNative, PulseNative, Partial<CollectivesNative> {
  mailbox(atLeast: number, onMailbox?: (buffer: ArrayBuffer) => void): void
  bind(name: string, overload: string, names: string): number
  call(op: number): number
  signature(op: number): { types: string[]; results: string[]; written: number }
  argumentNames(name: string, overload: string): string
  schemas(): string[]
  intern(text: string): number
  release(ref: number): number
  releaseMany(count: number): void
  alias(ref: number): number
  meta(ref: number): void
  fromBytes(array: ArrayBufferView, dtype: number, dims: number): number
  readInto(ref: number, array: ArrayBufferView): void
  memoryOf(ref: number): ArrayBuffer
  setRequiresGrad(ref: number, on: boolean): void
  gradEnabled(on?: boolean): number
  gradients(retain: boolean, create: boolean): number
  beginRecording(inputs: number): number
  abandonRecording(): void
  endRecording(outputs: number): number
  recordCall(op: number, where: string): number
  special(code: number, values: number, results: number, where: string, first: number, second: number): number
  runProgram(program: number, inputs: number): Promise<Float64Array>
  callProgram(program: number, inputs: number): number
  releaseProgram(program: number): number
  toHost(ref: number): Promise<Float64Array>
  captureProgram(program: number, inputs: number, warmups: number, beside: number): Promise<Float64Array>
  replay(graph: number): void
  releaseGraph(graph: number): number
  newKernel(source: string, file: string, entry: string, params: string, cachePath: string): number
  manualSeed(seed: bigint): void
  newGenerator(deviceType: number, deviceIndex: number, seed: bigint): number
  generatorState(generator: number, state?: number): number
  releaseGenerator(generator: number): number
  threads(count?: number): number
  memory(deviceType: number, deviceIndex: number, resetPeak: boolean): void
  freeMemory(deviceType: number, deviceIndex: number): number
  leaveToCollector(ref: number): void
  newStream(deviceType: number, deviceIndex: number): number
  useStream(stream: number): number
  streamWaits(waiting: number, other: number): void
  synchronize(deviceType: number, deviceIndex: number): Promise<Float64Array>
  resizePicture(
    pixels: Uint8Array,
    room: Uint8Array,
    height: number,
    width: number,
    newHeight: number,
    newWidth: number,
  ): Promise<Uint8Array>
  releaseBytes(array: Uint8Array): void
  machine(): {
    libtorchVersion: string
    operatorCount: number
    config: string
    cuda: number
    graphs: number
    devices: { name: string; totalBytes: number; capability: number; multiprocessors: number }[]
  }
}

function load(): Native {
  // dist/tensor and src/tensor are equally deep, so this is right for both.
  const path = fileURLToPath(new URL('../../build/whetstone.node', import.meta.url))
  if (!existsSync(path)) {
    throw new BridgeMissingError('the native bridge is not built; run `npx whetstone setup`')
  }
  try {
    return createRequire(import.meta.url)(path) as Native
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new BridgeMissingError(`the native bridge does not load (${reason}); run \`npx whetstone setup\``, { cause })
  }
}

const afterLoad: ((loaded: Native) => void)[] = []

/** Calls `act` as soon as the bridge is loaded, before the call that loads it. */
export function whenLoaded(act: (loaded: Native) => void): void {
  afterLoad.push(act)
}

/** The prototype of `native` until the bridge is loaded: the first function that is read loads it. */
const unloaded = new Proxy<object>(Object.create(null), {
  get: (_, name) => {
    const loaded = load()
    Object.assign(Object.setPrototypeOf(native, null), loaded)
    for (const act of afterLoad) act(loaded)
    return Reflect.get(loaded, name) as unknown
  },
})

/** The first call loads libtorch: what only reads files starts sooner, and in 150 MB less. */
export const native = Object.create(unloaded) as Native
provideWatchdog(() => native)
