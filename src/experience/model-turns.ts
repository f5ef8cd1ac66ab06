/**
 * Lets models take turns on a device that cannot hold all of them. During generation the engine has the device (with the actor if
 * it uses its weights); during scoring one model has it. The others are offloaded; each model returns once, for all calls that
 * wait for it.
 */
import type { TokenModel } from '../model/index.js'
import type { Generator } from '../rollout/index.js'

export type Resident = Pick<TokenModel, 'offload' | 'reload' | 'capabilities'>

export interface Turns {
  /** The engine has the device. */
  beginGeneration(): Promise<void>
  /** Models have it, in turns. */
  beginScoring(): Promise<void>
  /** Runs `work` when it is the model's turn; while responses are generated it waits. */
  use<T>(model: Resident, work: () => Promise<T>): Promise<T>
  /** The actor has the device, for a training step. */
  end(): Promise<void>
}

type Sleeper = Pick<Generator, 'sleep' | 'wake' | 'capabilities'>

/** For a device that holds all models. Another user may have left the engine asleep. */
export const noTurns = (generator: Sleeper): Turns => ({
  beginGeneration: async () => {
    if (generator.capabilities.sleep) await generator.wake()
  },
  beginScoring: async () => {},
  use: (_, work) => work(),
  end: async () => {},
})

interface ModelTurnsOptions {
  generator: Sleeper
  actor: Resident
  /** All others. */
  models: Iterable<Resident>
}

export class ModelTurns implements Turns {
  private readonly models: ReadonlySet<Resident>
  /** The one that is on the device; undefined at first: all may be. */
  private current: Resident | undefined
  /** Undefined before the first generation: models may work, as they did when they were loaded. */
  private phase: 'generation' | 'scoring' | undefined
  private waiting: { model: Resident; run: () => Promise<void>; fail: (error: unknown) => void }[] = []
  private running: Promise<void> | undefined

  constructor(private readonly options: ModelTurnsOptions) {
    this.models = new Set([options.actor, ...options.models].filter(model => model.capabilities.offload))
  }

  async beginGeneration(): Promise<void> {
    if (this.phase === 'generation') return
    await this.running
    const { actor, generator } = this.options
    const shared = generator.capabilities.weights.includes('shared')
    await this.leaveOnly(shared ? actor : undefined)
    if (generator.capabilities.sleep) await generator.wake()
    this.phase = 'generation'
  }

  async beginScoring(): Promise<void> {
    if (this.phase === 'scoring') return
    const { generator } = this.options
    if (generator.capabilities.sleep) await generator.sleep()
    this.phase = 'scoring'
    this.start()
  }

  use<T>(model: Resident, work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = (): Promise<void> => work().then(resolve, reject)
      this.waiting.push({ model, run, fail: reject })
      this.start()
    })
  }

  async end(): Promise<void> {
    await this.beginScoring()
    await this.running
    await this.leaveOnly(this.options.actor)
  }

  private start(): void {
    if (this.phase === 'generation' || this.running || this.waiting.length === 0) return
    this.running = this.serve().finally(() => {
      this.running = undefined
      this.start()
    })
  }

  /** The calls of the model that has the device first, then those of the others in the order they came. */
  private async serve(): Promise<void> {
    while (this.waiting.length > 0 && this.phase !== 'generation') {
      const at = Math.max(
        0,
        this.waiting.findIndex(({ model }) => model === this.current),
      )
      const [next] = this.waiting.splice(at, 1)
      try {
        await this.leaveOnly(next!.model)
      } catch (error) {
        // Such as a card without room for it.
        next!.fail(error)
        continue
      }
      await next!.run()
    }
  }

  private async leaveOnly(model: Resident | undefined): Promise<void> {
    if (model !== undefined && this.current === model) return
    // If one of these fails, it is unknown which model is on the device.
    this.current = undefined
    for (const other of this.models) if (other !== model) await other.offload()
    if (model && this.models.has(model)) await model.reload()
    this.current = model
  }
}
