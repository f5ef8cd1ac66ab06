/** Starts the ranks of a job on this machine: this process is rank 0, the others are its children. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { backend, type Device, type Store, threads } from '../tensor/index.js'
import { backendOf } from './devices.js'
import { RankError } from './errors.js'
import { limitsOf } from './join.js'
import { defaultLimitMs, type RankOptions } from './rank.js'
import { rankEntry } from './rank-entry.js'
import { World } from './world.js'

/** So much of what a rank printed last is kept for errors. */
const keptText = 2_000
/** A rank that was told to end has this long. */
const graceMs = 5_000

interface LaunchOptions {
  /** Of each rank; the first is of this process. */
  readonly devices: readonly Device[]
  /** Default 60 s, or what the environment says. */
  readonly limitMs?: number
  readonly signal?: AbortSignal | undefined
}

interface LaunchedWorld {
  readonly world: World
  /** Ends the ranks, and resolves when their processes have ended. */
  close(): Promise<void>
}

/** The store listens on loopback, on any free port. Cores of a CPU are divided. */
export async function launchRanks({ devices, signal, ...given }: LaunchOptions): Promise<LaunchedWorld> {
  const { limitMs = defaultLimitMs } = { ...limitsOf(process.env), ...given }
  const before = threads()
  const own = devices.includes('cpu') ? Math.max(1, Math.floor(backend().threads / devices.length)) : before
  const host = '127.0.0.1'
  // Starting takes its time, also where a rank may not be silent for long.
  const limits = { limitMs, joinLimitMs: Math.max(limitMs, defaultLimitMs) }
  const shared = { size: devices.length, address: host, backend: backendOf(devices), job: 'whetstone', ...limits }
  const failed = new AbortController()
  const children: RankProcess[] = []
  const start = (store: Store): void => {
    for (const [rank, device] of devices.entries()) {
      if (rank === 0) continue
      const place = { host, port: store.port, served: 'elsewhere' } as const
      const child = new RankProcess({ ...shared, rank, device, store: place }, { threads: own })
      child.ended.then(error => failed.abort(error))
      children.push(child)
    }
  }
  const endAll = async (): Promise<void> => {
    await Promise.all(children.map(child => child.end()))
    threads(before)
  }
  threads(own)
  try {
    const options: RankOptions = { ...shared, rank: 0, device: devices[0]!, store: { host, port: 0, served: 'here' } }
    const either = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal
    const world = await World.open(options, { onStore: start, signal: either })
    for (const [i, child] of children.entries())
      void child.ended.then(() => world.ended(i + 1, child.how, child.printed))
    return {
      world,
      close: async () => {
        await world.close()
        await endAll()
      },
    }
  } catch (error) {
    for (const child of children) child.kill()
    await endAll()
    throw error
  }
}

/** One of the ranks 1, 2, ... in a process of its own. */
class RankProcess {
  /** Resolves when it has ended, with how. */
  readonly ended: Promise<RankError>
  private readonly child: ChildProcess
  private text = ''
  private outcome = 'has ended'

  constructor(
    private readonly options: RankOptions,
    { threads }: { threads: number },
  ) {
    // Ctrl-C reaches it too; it waits for what rank 0 makes of it.
    this.child = spawn(process.execPath, [fileURLToPath(rankEntry.url), JSON.stringify(options), String(process.pid)], {
      env: { ...process.env, OMP_NUM_THREADS: String(threads) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.text = (this.text + text).slice(-keptText)
    })
    this.ended = new Promise(resolve => {
      this.child.once('error', cause =>
        resolve(new RankError(`rank ${options.rank} cannot start: ${cause.message}`, { cause })),
      )
      this.child.once('close', (code, signal) => {
        this.outcome = signal ? `was ended by ${signal}` : `ended with exit code ${code}`
        const { rank, device } = this.options
        resolve(new RankError(`rank ${rank} (${device}, process ${this.child.pid}) ${this.outcome}${this.lastWords()}`))
      })
    })
  }

  /** How its process ended. */
  get how(): string {
    return this.outcome
  }

  /** The last of what it printed on its standard error. */
  get printed(): string {
    return this.text
  }

  /** What it printed last, as errors add it. */
  lastWords(): string {
    const text = this.text.trim()
    return text === '' ? '' : `: ${text}`
  }

  kill(): void {
    this.child.kill('SIGKILL')
  }

  async end(): Promise<void> {
    // One that was stopped hears nothing but this.
    const timer = setTimeout(() => this.kill(), graceMs)
    await this.ended
    clearTimeout(timer)
  }
}
