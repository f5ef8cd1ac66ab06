/** The ranks of a command: those that a launcher started, those that it starts itself, or this process alone. */
import type { Device } from '../tensor/index.js'
import { type DeviceChoice, rankDevices } from './devices.js'
import { endingProcess } from './end-process.js'
import { type LaunchedRank, launchedRank } from './environment.js'
import { openLaunched, serveLaunched } from './join.js'
import { launchRanks } from './launch.js'
import type { World } from './world.js'

/** A launched job is joined once; its ranks serve whatever this process does until it ends. */
let joined: Promise<World> | undefined

export class Ranks {
  /** Why they cannot go on together. */
  failure: Error | undefined
  private opened: Promise<{ world: World; close(): Promise<void> }> | undefined
  private readonly listeners = new Set<(error: Error) => void>()

  private constructor(
    /** Where this process computes. */
    readonly device: Device,
    readonly size: number,
    private readonly open: (signal?: AbortSignal) => Promise<{ world: World; close(): Promise<void> }>,
  ) {}

  /**
   * As a config and the environment say. A launched job is joined here: its ranks wait without a limit from then on. Ranks that this
   * process starts itself are started when `world` is first asked for. `signal` gives up waiting for the others.
   */
  static async of(choice: DeviceChoice, signal?: AbortSignal): Promise<Ranks> {
    const launched = launchedRank(process.env)
    if (launched) return Ranks.ofLaunched(launched, choice, signal)
    const devices = rankDevices(choice)
    return new Ranks(devices[0], devices.length, signal => launchRanks({ devices, signal }))
  }

  private static async ofLaunched(launched: LaunchedRank, choice: DeviceChoice, signal?: AbortSignal): Promise<Ranks> {
    if (launched.rank !== 0) return endingProcess(joined => serveLaunched(launched, { onConnected: joined }))
    joined ??= openLaunched(launched, choice, signal)
    const world = await joined
    return new Ranks(world.identity.device as Device, world.size, async () => ({ world, close: async () => {} }))
  }

  /** Undefined for one process alone. */
  async world(signal?: AbortSignal): Promise<World | undefined> {
    if (this.size === 1) return undefined
    this.opened ??= this.open(signal).then(opened => {
      opened.world.onFailure(error => {
        this.failure = error
        for (const listener of this.listeners) listener(error)
      })
      return opened
    })
    return (await this.opened).world
  }

  /** Called when a rank is lost, also while nothing is asked of it. */
  onFailure(listener: (error: Error) => void): void {
    this.listeners.add(listener)
  }

  /** Ends the ranks that were started for this. */
  async close(): Promise<void> {
    const opened = await this.opened?.catch(() => undefined)
    this.opened = undefined
    await opened?.close()
  }
}

/** Ends the ranks of a launched job, where this process has joined one: with it, or because it failed. */
export async function leaveJob(error?: Error): Promise<void> {
  const world = await joined?.catch(() => undefined)
  joined = undefined
  if (error) world?.fail(error)
  await world?.close()
}
