/**
 * Lets people act on a run that trains, through the socket in its directory. Acts take effect between iterations or steps; each is on the
 * disk before it does. A run that is not asked anything trains as if this were not there.
 */
import { z } from 'zod'
import { InputError, schemaProblems, valueIn } from '../../errors/index.js'
import { ActLog, type ActRecord, ControlSocket, type Run } from '../../run/index.js'

/** What any run can do between two of its steps. */
export const plainActs = [
  z.strictObject({ act: z.literal('pause') }),
  z.strictObject({ act: z.literal('resume') }),
  z.strictObject({ act: z.literal('stop') }),
  z.strictObject({ act: z.literal('checkpoint') }),
] as const
type AnyAct = { readonly act: string }

/** Acts of a log, in the order they were done. */
export type Acts<A extends AnyAct> = readonly (ActRecord & { readonly act: A })[]

/** Acts of a newer version, which this one does not know, are refused before they are ignored. */
export function actsOf<A extends AnyAct>(schema: z.ZodType<A>, records: readonly ActRecord[]): Acts<A> {
  return records.map(record => ({ ...record, act: schema.parse(record.act) as ActRecord['act'] & A }))
}

/** An option that may change while a run trains, with its value of now. */
export interface Setting {
  readonly option: string
  readonly value: number | null
  readonly help: string
  /** Why this run cannot change it. */
  readonly reason: string | null
}

/** What a kind of training makes of acts. */
interface ActRules<A extends AnyAct> {
  readonly run: Run
  readonly schema: z.ZodType<A>
  /** What the run counts. */
  readonly unit: 'iteration' | 'step'
  /** The one that is made now. */
  readonly now: () => number
  /** The first one that an act counts for. */
  readonly from: (act: A) => number
  /** Of acts that are not among `plainActs`. */
  readonly text: (act: A, from: number) => string
  /** Why it cannot be done after those before it. */
  readonly problem: (act: A, before: Acts<A>) => string | undefined
  readonly settings: (acts: Acts<A>) => readonly Setting[]
  readonly droppedPrompts?: (acts: Acts<A>) => Iterable<string>
  /** Answers a chat with the model of now; undefined where nothing can generate. */
  readonly chat?: (question: unknown, send: (line: unknown) => void, signal: AbortSignal) => Promise<void>
}

type ControlState = 'training' | 'pausing' | 'paused' | 'stopping'

interface WaitingChat {
  readonly work: () => Promise<void>
  readonly done: () => void
}

export class RunControl<A extends AnyAct> {
  readonly #rules: ActRules<A>
  readonly #log: ActLog
  #acts: Acts<A>
  #socket: ControlSocket | undefined
  #state: ControlState = 'training'
  #wantsCheckpoint = false
  /** The act that is being written, and those that wait for it. */
  #writing: Promise<unknown> = Promise.resolve()
  #chats: WaitingChat[] = []
  #wake: (() => void) | undefined

  private constructor(rules: ActRules<A>, log: ActLog) {
    this.#rules = rules
    this.#log = log
    this.#acts = actsOf(rules.schema, log.before)
  }

  static async open<A extends AnyAct>(rules: ActRules<A>): Promise<RunControl<A>> {
    const { directory } = rules.run
    const control = new RunControl(rules, await ActLog.open(directory))
    control.#socket = await ControlSocket.listen(directory, (request, send, signal) =>
      control.#answer(request, send, signal),
    )
    return control
  }

  /** All acts so far; waits for acts that are being written, so that no act has an effect that a crash would lose. */
  async settled(): Promise<Acts<A>> {
    for (let seen: unknown; seen !== this.#writing; ) {
      seen = this.#writing
      await seen
    }
    return this.#acts
  }

  /** Between two steps: chats, a checkpoint, a pause. Resolves to whether the run goes on. */
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
    const parsed = this.#rules.schema.safeParse(request)
    if (!parsed.success)
      throw new InputError(schemaProblems(parsed.error, { known: [], valueAt: valueIn(request) }).join('; '))
    send(await this.#do(parsed.data))
  }

  /** One after another: an act finds what those before it did. */
  #do(act: A): Promise<{ message: string; from: number }> {
    const done = this.#writing.then(() => this.#doNow(act))
    this.#writing = done.catch(() => {})
    return done
  }

  async #doNow(act: A): Promise<{ message: string; from: number }> {
    const problem = this.#problem(act)
    if (problem !== undefined) throw new InputError(problem)
    const { now, from: first, text, unit, run } = this.#rules
    const words = plainText(act, unit)
    const from = words === undefined ? first(act) : now()
    const record = { time: new Date().toISOString(), from, act: act as ActRecord['act'] & A }
    // In the list at once, in the order of the acts; those who read the list wait until it is written.
    this.#acts = [...this.#acts, record]
    await this.#log.add(record).catch(error => {
      this.#acts = this.#acts.filter(one => one !== record)
      throw error
    })
    const message = words ?? text(act, from)
    run.event('act', { text: message, from, ...record.act })
    this.#take(act)
    return { message, from }
  }

  #take({ act }: A): void {
    if (act === 'pause' && this.#state === 'training') this.#state = 'pausing'
    if (act === 'resume') this.#state = 'training'
    if (act === 'stop') this.#state = 'stopping'
    if (act === 'checkpoint') this.#wantsCheckpoint = true
    this.#wake?.()
  }

  #problem(act: A): string | undefined {
    if (act.act === 'resume' && this.#state === 'training') return 'the run is not paused'
    if (act.act === 'resume' && this.#state === 'stopping') return 'the run is stopping already'
    if (act.act === 'pause' && this.#state !== 'training') return `the run is ${this.#state} already`
    return this.#rules.problem(act, this.#acts)
  }

  #stateOf() {
    const { settings, droppedPrompts, now, unit } = this.#rules
    return {
      state: this.#state,
      [unit]: now(),
      settings: settings(this.#acts),
      droppedPrompts: [...(droppedPrompts?.(this.#acts) ?? [])],
    }
  }

  /** Between steps, or at once while the run is paused: a chat never shares a batch with samples of the training. */
  #chat(request: unknown, send: (line: unknown) => void, signal: AbortSignal): Promise<void> {
    const { chat } = this.#rules
    if (!chat) throw new InputError('this training has no engine; talk to a model that the run has written')
    return new Promise((done, fail) => {
      const work = async (): Promise<void> => {
        if (!signal.aborted) await chat(request, send, signal).catch(fail)
      }
      this.#chats.push({ work, done })
      this.#wake?.()
    })
  }
}

/** A plain act in words; undefined for others. */
function plainText({ act }: AnyAct, unit: 'iteration' | 'step'): string | undefined {
  switch (act) {
    case 'pause':
      return `the run pauses after this ${unit}`
    case 'resume':
      return 'the run goes on'
    case 'stop':
      return `the run saves a checkpoint and stops after this ${unit}`
    case 'checkpoint':
      return `the run saves a checkpoint after this ${unit}`
    default:
      return undefined
  }
}
