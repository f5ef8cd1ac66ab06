/** How a process that a launcher started takes part in its job. */
import { lookup } from 'node:dns/promises'
import { connect } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { InputError } from '../errors/index.js'
import { backend, type Device, hasCollectives, resolveDevice, Store, threads } from '../tensor/index.js'
import { type DeviceChoice, devicesProblem, hasOwnGpu } from './devices.js'
import { type Environment, isLoopback, type LaunchedRank } from './environment.js'
import { RankError } from './errors.js'
import { defaultLimitMs, type RankOptions } from './rank.js'
import { type ServeOptions, serveRank } from './rank-worker.js'
import { World } from './world.js'

/** Machines of a job may start minutes apart. */
const joinLimitMs = 300_000

/** What rank 0 decides for all; the others read it in the store before they join. */
const settingsSchema = z.strictObject({
  device: z.enum(['cpu', 'cuda']),
  backend: z.enum(['gloo', 'nccl']),
  limitMs: z.number().positive(),
})
type Settings = z.output<typeof settingsSchema>
const settingsKey = (job: string): string => `${job}/settings`

/** Limits of waiting, which a user may change: for silent ranks and collectives, and for ranks that have not come yet. */
export function limitsOf(env: Environment): { limitMs: number; joinLimitMs: number } {
  const read = (name: string, fallback: number): number => {
    const text = env[name]
    if (text === undefined || text === '') return fallback
    const seconds = Number(text)
    if (!(seconds > 0)) throw new InputError(`${name}: expected seconds, got ${JSON.stringify(text)}`)
    return seconds * 1000
  }
  return {
    limitMs: read('WHETSTONE_RANK_LIMIT', defaultLimitMs),
    joinLimitMs: read('WHETSTONE_JOIN_LIMIT', joinLimitMs),
  }
}

/** Rank 0 of a launched job: serves the store where nothing else does, and waits for the others. */
export async function openLaunched(launched: LaunchedRank, choice: DeviceChoice, signal?: AbortSignal): Promise<World> {
  const { rank, size, job, localSize, localRank } = launched
  if (rank !== 0) throw new RangeError('rank 0 controls the others')
  requireCollectives(size)
  refuseDevices(launched, choice)
  const kind = resolveDevice(choice.device ?? 'auto').startsWith('cuda') ? 'cuda' : 'cpu'
  const gpus = backend().cuda.devices.length
  const limits = limitsOf(process.env)
  const settings: Settings = {
    device: kind,
    backend: kind === 'cuda' && hasOwnGpu({ gpus, localSize }) ? 'nccl' : 'gloo',
    limitMs: limits.limitMs,
  }
  shareCores(settings.device, localSize)
  const place = await storePlace(launched, limits.joinLimitMs, signal)
  const options: RankOptions = {
    ...{ rank, size, job, ...limits, ...place, backend: settings.backend },
    device: deviceOf(settings, { localRank, gpus }),
  }
  const onStore = (store: Store): Promise<void> => store.set(settingsKey(job), JSON.stringify(settings))
  return World.open(options, { onStore, ...(signal && { signal }) })
}

/** The other ranks of a launched job: resolves when rank 0 has ended it. */
export async function serveLaunched(
  launched: LaunchedRank,
  more: Pick<ServeOptions, 'handlers' | 'onConnected'> = {},
): Promise<void> {
  const { rank, size, job, localRank, localSize } = launched
  requireCollectives(size)
  const { joinLimitMs } = limitsOf(process.env)
  const place = await storePlace(launched, joinLimitMs)
  const settings = await readSettings(place.store, job, joinLimitMs)
  shareCores(settings.device, localSize)
  const device = deviceOf(settings, { localRank, gpus: backend().cuda.devices.length })
  const { limitMs, backend: carrier } = settings
  await serveRank({ ...{ rank, size, job, device, limitMs, joinLimitMs, ...place, backend: carrier }, ...more })
}

async function readSettings(place: RankOptions['store'], job: string, limitMs: number): Promise<Settings> {
  const store = await Store.open({ ...place, limitMs })
  try {
    return settingsSchema.parse(JSON.parse(await store.text(settingsKey(job), { limitMs })))
  } finally {
    store.close()
  }
}

function requireCollectives(size: number): void {
  if (!hasCollectives())
    throw new InputError(
      `the launcher started ${size} ranks, and this libtorch was built without c10d: one process trains alone`,
      { remedy: 'Use a libtorch of PyTorch 2.4 or newer for Linux, and run `npx whetstone setup`.' },
    )
}

/** The launcher has decided; a config that says otherwise is a mistake. */
function refuseDevices({ localSize, size }: LaunchedRank, choice: DeviceChoice): void {
  const { device = 'auto', devices } = choice
  const problem = devicesProblem(choice)
  if (problem !== undefined) throw new InputError(`devices: ${problem}`)
  if (device.startsWith('cuda:'))
    throw new InputError(
      `device: ${device}, and a launcher started ${size} ranks, each with a GPU of its own; set cuda`,
    )
  if (Array.isArray(devices) || (typeof devices === 'number' && devices !== localSize))
    throw new InputError(
      `devices: ${JSON.stringify(devices)}, and the launcher started ${localSize} ranks on this machine; leave devices out`,
    )
}

function deviceOf({ device }: Settings, { localRank, gpus }: { localRank: number; gpus: number }): Device {
  if (device === 'cpu') return device
  if (gpus === 0) throw new RankError(`${hostname()}: rank 0 computes on a GPU, and libtorch finds none here`)
  return `cuda:${localRank % gpus}`
}

/** On a CPU each rank has its part of the cores; a number that the user set stays. */
function shareCores(device: string, ranks: number): void {
  if (device !== 'cpu' || process.env.OMP_NUM_THREADS !== undefined) return
  threads(Math.max(1, Math.floor(backend().threads / ranks)))
}

/** Where the store is for this rank, and the address of this machine that the others reach. */
async function storePlace(
  { rank, size, localSize, master, store }: LaunchedRank,
  limitMs: number,
  signal?: AbortSignal,
): Promise<Pick<RankOptions, 'store' | 'address'>> {
  const served = rank === 0 && store === 'rank 0' ? 'here' : 'elsewhere'
  const alone = localSize === size
  const { port } = master
  if (served === 'here') {
    const host = alone || isLoopback(master.host) ? '127.0.0.1' : await ownAddress(master.host)
    return { store: { host, port, served }, address: host }
  }
  const host = alone && store === 'rank 0' ? '127.0.0.1' : await addressOf(master.host)
  const address = await addressTowards({ host, port }, limitMs, signal)
  return { store: { host, port, served }, address: alone ? '127.0.0.1' : address }
}

/** `localhost` may mean an IPv6 address that nothing listens on. */
async function addressOf(host: string): Promise<string> {
  if (isLoopback(host)) return '127.0.0.1'
  const found = await lookup(host, { all: true }).catch(cause => {
    throw new RankError(`MASTER_ADDR: there is no address of ${host} (${cause.message})`, { cause })
  })
  return (found.find(({ family }) => family === 4) ?? found[0]!).address
}

/** The address of this machine that MASTER_ADDR means, and no other: the network of the job. */
async function ownAddress(host: string): Promise<string> {
  const wanted = await addressOf(host)
  const own = Object.values(networkInterfaces()).flatMap(one => one ?? [])
  if (own.some(({ address }) => address === wanted)) return wanted
  // The name is of a service before this machine, as Kubernetes has them.
  const named = await lookup(hostname(), { all: true, family: 4 }).catch(() => [])
  const known = named.find(({ address }) => own.some(one => one.address === address && !one.internal))
  const any = own.find(({ family, internal }) => family === 'IPv4' && !internal)
  const found = known?.address ?? any?.address
  if (found === undefined)
    throw new RankError(`MASTER_ADDR: ${host} is ${wanted}, which is not an address of this machine`)
  return found
}

/** The address that this machine has on the way to another, which may not listen yet. */
async function addressTowards(
  place: { host: string; port: number },
  limitMs: number,
  signal?: AbortSignal,
): Promise<string> {
  const end = performance.now() + limitMs
  for (;;) {
    const found = await tryConnect(place)
    if (typeof found === 'string') return found
    if (performance.now() > end)
      throw new RankError(
        `the job's store at ${place.host} port ${place.port} did not answer within ${limitMs / 1000} s (${found.message})`,
      )
    await sleep(200)
    signal?.throwIfAborted()
  }
}

function tryConnect(place: { host: string; port: number }): Promise<string | Error> {
  return new Promise(resolve => {
    const socket = connect(place)
    const end = (answer: string | Error): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(5000, () => end(new Error('no answer')))
    socket.once('connect', () => end(socket.localAddress ?? '127.0.0.1'))
    socket.once('error', end)
  })
}
