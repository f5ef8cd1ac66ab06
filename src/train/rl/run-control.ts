/**
 * Lets people act on a run that trains, through the socket in its directory. Acts take effect between iterations; each is on the disk before
 * it does. A run that is not asked anything trains as if this were not there.
 */
import { InputError } from '../../errors/index.js'
import { ActLog, ControlSocket, type Run } from '../../run/index.js'
import {
  type Act,
  actedConfig,
  actSchema,
  actText,
  droppedRows,
  knownActs,
  rowOf,
  type Setting,
  settingProblem,
  settingsOf,
} from './acts.js'
import { type ChatQuestion, chatSchema } from './chat-request.js'
import type { RlConfig } from './config.js'

type Acts = ReturnType<typeof knownActs>

interface ControlOptions {
  readonly run: Run
  readonly config: RlConfig
  /** Rows that prompts are drawn from, and held-out prompts. */
  readonly rows: number
  readonly heldOut: number
  /** The coefficient of now. */
  readonly klCoef: () => number
  /** The iteration that trains, and the first whose rollout has not begun. */
  readonly iteration: () => number
  readonly next: () => number
  /** Answers a chat with the policy of now. */
  readonly chat: (question: ChatQuestion, send: (line: unknown) => void, signal: AbortSignal) => Promise<void>
}

export type ControlState = 'training' | 'pausing' | 'paused' | 'stopping'

interface WaitingChat {
  readonly work: () => Promise<void>
  readonly done: () => void
}

export class RunControl {
  readonly #options: ControlOptions
  readonly #log: ActLog
  #acts: Acts
  #socket: ControlSocket | undefined
  #state: ControlState = 'training'
  #wantsCheckpoint = false
  /** Acts that are being written. */
  #writing: Promise<unknown> = Promise.resolve()
  /** Samples of this iteration and those before it cannot be dropped any more. */
  #batched = -1
  #chats: WaitingChat[] = []
  #wake: (() => void) | undefined

  private constructor(options: ControlOptions, log: ActLog) {
    this.#options = options
    this.#log = log
    this.#acts = knownActs(log.before)
  }

  static async open(options: ControlOptions): Promise<RunControl> {
    const { run } = options
    const control = new RunControl(options, await ActLog.open(run.directory))
    control.#socket = await ControlSocket.listen(run.directory, (request, send, signal) =>
      control.#answer(request, send, signal),
    )
    return control
  }

  /** All acts so far; those that are being written are waited for, so that nothing has an effect that a crash would forget. */
  async settled(): Promise<Acts> {
    await this.#writing
    return this.#acts
  }

  /** Its batch is being made: samples of it can no longer be dropped. */
  async batchOf(iteration: number): Promise<Acts> {
    this.#batched = Math.max(this.#batched, iteration)
    return this.settled()
  }

  /** Between two iterations: chats, a checkpoint, a pause. Resolves to whether the run goes on. */
  async between({ save, signal }: { save: () => Promise<void>; signal: AbortSignal }): Promise<'go on' | 'stop'> {
    for (;;) {
      if (this.#wantsCheckpoint) {
        this.#wantsCheckpoint = false
        await save()
      }
      for (const { work, done } of this.#chats.splice(0)) await work().finally(done)
      if (signal.aborted || this.#state === 'stopping') return 'stop'
      if (this.#state === 'training') return 'go on'
      this.#state = 'paused'
      await this.#waken(signal)
    }
  }

  async close(): Promise<void> {
    for (const { done } of this.#chats.splice(0)) done()
    await this.#socket?.close()
    await this.#log.close()
  }

  #waken(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      // The process waits for an act, and has nothing else to do.
      const alive = setInterval(() => {}, 60_000)
      const wake = (): void => {
        clearInterval(alive)
        signal.removeEventListener('abort', wake)
        this.#wake = undefined
        resolve()
      }
      this.#wake = wake
      signal.addEventListener('abort', wake, { once: true })
    })
  }

  async #answer(request: unknown, send: (line: unknown) => void, signal: AbortSignal): Promise<void> {
    const { ask } = (request ?? {}) as { ask?: unknown }
    if (ask === 'state') return send(this.#stateOf())
    if (ask === 'chat') return this.#chat(request, send, signal)
    const parsed = actSchema.safeParse(request)
    if (!parsed.success) {
      const [issue] = parsed.error.issues
      throw new InputError(`${issue?.path.join('.') ?? 'act'}: ${issue?.message ?? 'not an act'}`)
    }
    send(await this.#do(parsed.data))
  }

  async #do(act: Act): Promise<{ message: string; from: number }> {
    const problem = this.#problem(act)
    if (problem !== undefined) throw new InputError(problem)
    const isLater = act.act === 'set' || act.act === 'drop-prompt' || act.act === 'restore-prompt'
    const from = act.act === 'drop-sample' ? act.iteration : isLater ? this.#options.next() : this.#options.iteration()
    const record = { time: new Date().toISOString(), from, act }
    // In the list at once, in the order of the acts; those who read the list wait until it is written.
    this.#acts = [...this.#acts, record]
    const written = this.#log.add(record).catch(error => {
      this.#acts = this.#acts.filter(one => one !== record)
      throw error
    })
    this.#writing = Promise.allSettled([this.#writing, written])
    await written
    const text = actText(act, from)
    this.#options.run.event('act', { text, from, ...act })
    this.#take(act)
    return { message: text, from }
  }

  #take({ act }: Act): void {
    if (act === 'pause' && this.#state === 'training') this.#state = 'pausing'
    if (act === 'resume') this.#state = 'training'
    if (act === 'stop') this.#state = 'stopping'
    if (act === 'checkpoint') this.#wantsCheckpoint = true
    this.#wake?.()
  }

  #problem(act: Act): string | undefined {
    const { next, rows } = this.#options
    const config = actedConfig(this.#options.config, this.#acts, next())
    if (act.act === 'resume' && this.#state === 'training') return 'the run is not paused'
    if (act.act === 'pause' && this.#state !== 'training') return `the run is ${this.#state} already`
    if (act.act === 'set')
      return this.#settings(config).find(({ option }) => option === act.option)?.reason ?? settingProblem(config, act)
    if (act.act === 'drop-prompt') {
      const dropped = droppedRows(this.#acts, next())
      if (dropped.has(rowOf(act.promptId))) return `prompt ${rowOf(act.promptId)} is dropped already`
      if (dropped.size + 1 >= rows) return 'the run would have no prompt left'
    }
    if (act.act === 'restore-prompt' && !droppedRows(this.#acts, next()).has(rowOf(act.promptId)))
      return `prompt ${rowOf(act.promptId)} is not dropped`
    if (act.act === 'drop-sample' && act.iteration <= this.#batched)
      return `iteration ${act.iteration} has its batch already; drop the prompt to keep it out of later ones`
    return undefined
  }

  #settings(config: RlConfig): Setting[] {
    return settingsOf(config, { klCoef: this.#options.klCoef(), heldOut: this.#options.heldOut })
  }

  #stateOf() {
    const config = actedConfig(this.#options.config, this.#acts, this.#options.next())
    return {
      state: this.#state,
      iteration: this.#options.iteration(),
      settings: this.#settings(config),
      droppedPrompts: [...droppedRows(this.#acts, this.#options.next())],
    }
  }

  /** Between iterations, or at once while the run is paused: a chat never shares a batch with samples of the training. */
  #chat(request: unknown, send: (line: unknown) => void, signal: AbortSignal): Promise<void> {
    const question = chatSchema.parse(request)
    return new Promise((done, fail) => {
      const work = async (): Promise<void> => {
        if (!signal.aborted) await this.#options.chat(question, send, signal).catch(fail)
      }
      this.#chats.push({ work, done })
      this.#wake?.()
    })
  }
}
