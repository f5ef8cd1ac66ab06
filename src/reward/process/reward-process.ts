/** One process of a reward file, and the calls it has. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { RewardConfigError, SourceError } from '../errors.js'
import type { SourceOutcome } from '../outcome.js'
import { childEntry } from './entry.js'
import type { FileDescription, FromChild, SentError, ToChild } from './messages.js'
import { receivedError } from './sent-error.js'

/** One call of a source of the file. */
export interface ProcessCall {
  readonly source: number
  readonly items: readonly unknown[]
  /** The process started the call: its deadline counts from now. */
  readonly entered: () => void
  readonly resolve: (outcomes: readonly SourceOutcome[]) => void
  readonly reject: (error: unknown) => void
}

export interface ProcessOptions {
  readonly file: string
  /** Directory of the policy's tokenizer. */
  readonly tokenizer: string | undefined
  /** Milliseconds the file may take to load. */
  readonly loadMs: number
  readonly signal: AbortSignal | undefined
  /** The process ended by itself. Calls that it had not started go to another one. */
  readonly onEnd: (left: readonly ProcessCall[]) => void
}

/** How long a process that was asked whether it is alive, or to end, may take. */
const graceMs = 2_000
/** Report a file that takes longer to load. */
const longMs = 30_000

export class RewardProcess {
  private readonly child: ChildProcess
  /** In the order they were sent. */
  private readonly calls = new Map<number, { readonly call: ProcessCall; state: 'sent' | 'entered' | 'waiting' }>()
  private readonly ids = new Map<ProcessCall, number>()
  private nextId = 0
  private lastError: Error | undefined
  private ended: string | undefined
  private alive: (() => void) | undefined
  private readonly told = new Set<string>()
  private readonly exited: Promise<void>

  private constructor(private readonly options: ProcessOptions) {
    // It inherits the environment. No shell is used. What it prints to a terminal goes through the streams of this process, which keep
    // a line that is redrawn apart from it.
    const { stdout, stderr } = process
    this.child = fork(fileURLToPath(childEntry.url), [], {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', stdout.isTTY ? 'pipe' : 'inherit', stderr.isTTY ? 'pipe' : 'inherit', 'ipc'],
    })
    this.child.stdout?.on('data', (text: Buffer) => stdout.write(text))
    this.child.stderr?.on('data', (text: Buffer) => stderr.write(text))
    this.child.on('message', (message: FromChild) => {
      if (message.kind !== 'warning') return
      const { name, code, message: text } = message
      process.emitWarning(text, { type: name, ...(code === undefined ? {} : { code }) })
    })
    this.exited = new Promise(resolve => this.child.once('exit', () => resolve()))
  }

  static async start(options: ProcessOptions): Promise<{ process: RewardProcess; description: FileDescription }> {
    const process = new RewardProcess(options)
    const description = await process.load()
    process.listen()
    return { process, description }
  }

  /** Calls it has and was not told to give up. */
  get size(): number {
    return this.calls.size
  }

  call(call: ProcessCall): void {
    const id = this.nextId++
    try {
      this.send({ kind: 'call', id, source: call.source, items: call.items })
    } catch (cause) {
      call.reject(
        new SourceError('input', `the sample cannot be sent to the reward's process: ${(cause as Error).message}`),
      )
      return
    }
    if (this.calls.size === 0) this.hold()
    this.calls.set(id, { call, state: 'sent' })
    this.ids.set(call, id)
    this.enterNext()
  }

  /** The caller gave up a call. If the call's deadline is over and the process does not answer `alive`, the process is stuck: end it. */
  giveUp(call: ProcessCall, reason: unknown): void {
    const id = this.ids.get(call)
    if (this.ended !== undefined || id === undefined) return
    this.send({ kind: 'abort', id })
    if (!(reason instanceof SourceError) || reason.reason !== 'timeout' || this.alive) return
    const stuck = setTimeout(() => this.child.kill('SIGKILL'), graceMs)
    this.alive = () => {
      clearTimeout(stuck)
      this.alive = undefined
    }
  }

  tell(name: string, event: unknown): void {
    if (this.ended === undefined) this.send({ kind: 'event', name, event })
  }

  async close(): Promise<void> {
    if (this.ended === undefined) {
      this.ended = 'closed'
      this.hold()
      if (this.child.connected) this.send({ kind: 'close' })
      const late = setTimeout(() => this.child.kill('SIGKILL'), graceMs)
      await this.exited
      clearTimeout(late)
    }
  }

  private load(): Promise<FileDescription> {
    const { file, tokenizer, loadMs, signal } = this.options
    return new Promise((resolve, reject) => {
      const refuse = (error: unknown): void => {
        stop()
        this.ended = 'not loaded'
        this.child.kill('SIGKILL')
        reject(error)
      }
      const onMessage = (message: FromChild): void => {
        if (message.kind === 'loaded') {
          stop()
          this.release()
          resolve(message.description)
        } else if (message.kind === 'stray') this.lastError = receivedError(message.error, file)
        else if (message.kind === 'refused') refuse(loadError(message.error, file))
      }
      const onExit = (code: number | null, by: NodeJS.Signals | null): void => {
        const why = this.lastError ? `: ${this.lastError.message}` : ''
        refuse(new RewardConfigError(`${file}: its process ended during loading (${exitOf(code, by)})${why}`))
      }
      const onError = (cause: Error): void =>
        refuse(new RewardConfigError(`${file}: cannot start a process for it: ${cause.message}`, { cause }))
      const onAbort = (): void => refuse(signal!.reason)
      const late = setTimeout(() => refuse(lateError(file, loadMs)), Math.min(loadMs, 2 ** 31 - 1))
      const long = setTimeout(() => {
        process.emitWarning(`${file} is still loading: its top-level code has not ended`, { type: 'RewardWarning' })
      }, longMs)
      const stop = (): void => {
        clearTimeout(late)
        clearTimeout(long)
        signal?.removeEventListener('abort', onAbort)
        this.child.off('message', onMessage).off('exit', onExit).off('error', onError)
      }
      this.child.on('message', onMessage).on('exit', onExit).on('error', onError)
      // An error after this belongs to no call.
      this.child.on('error', () => {})
      signal?.addEventListener('abort', onAbort, { once: true })
      if (signal?.aborted) onAbort()
      else this.send({ kind: 'load', file, tokenizer })
    })
  }

  private listen(): void {
    this.child.on('message', (message: FromChild) => this.take(message))
    this.child.on('exit', (code, signal) => this.lost(exitOf(code, signal)))
  }

  private take(message: FromChild): void {
    switch (message.kind) {
      case 'waiting': {
        const entry = this.calls.get(message.id)
        if (entry) entry.state = 'waiting'
        this.enterNext()
        return
      }
      case 'done':
        this.settle(message.id)?.resolve(message.outcomes)
        return
      case 'failed':
        this.settle(message.id)?.reject(receivedError(message.error, this.options.file))
        return
      case 'alive':
        this.alive?.()
        return
      case 'stray':
        this.lastError = receivedError(message.error, this.options.file)
        this.warnOf(this.lastError)
    }
  }

  private settle(id: number): ProcessCall | undefined {
    const entry = this.calls.get(id)
    if (!entry) return undefined
    this.calls.delete(id)
    this.ids.delete(entry.call)
    this.enterNext()
    if (this.calls.size === 0) this.release()
    return entry.call
  }

  /** The process takes calls in their order: it is at the first that has neither ended nor begun to wait. */
  private enterNext(): void {
    for (const entry of this.calls.values()) {
      if (entry.state === 'waiting') continue
      if (entry.state === 'sent') {
        entry.state = 'entered'
        entry.call.entered()
      }
      return
    }
  }

  private lost(how: string): void {
    if (this.ended !== undefined) return
    this.ended = how
    this.alive?.()
    const entries = [...this.calls.values()]
    this.calls.clear()
    this.ids.clear()
    const why = this.lastError ? `: ${this.lastError.message}` : ''
    const error = new SourceError('crashed', `the process of the reward ended during the call (${how})${why}`)
    this.options.onEnd(entries.filter(({ state }) => state === 'sent').map(({ call }) => call))
    for (const { call, state } of entries) if (state !== 'sent') call.reject(error)
  }

  private warnOf(error: Error): void {
    if (this.told.has(error.message)) return
    this.told.add(error.message)
    process.emitWarning(
      `${this.options.file}: unhandled error outside a call: ${error.stack ?? error.message}. The reward continues; await the promise, or handle its error.`,
      { type: 'RewardWarning', code: 'REWARD_STRAY_ERROR' },
    )
  }

  private send(message: ToChild): void {
    this.child.send(message)
  }

  /** Keeps our process alive while a call runs. */
  private hold(): void {
    this.child.ref()
    this.channel?.ref?.()
  }

  /** An idle child process does not keep this one alive. */
  private release(): void {
    this.child.unref()
    this.channel?.unref?.()
  }

  /** That of bun has neither function. */
  private get channel(): Partial<Pick<NonNullable<ChildProcess['channel']>, 'ref' | 'unref'>> | null | undefined {
    return this.child.channel
  }
}

function exitOf(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `exit code ${code}` : `by ${signal}`
}

function loadError(sent: SentError, file: string): Error {
  const cause = receivedError(sent, file)
  return new RewardConfigError(`${file}: ${cause.message}`, { cause })
}

function lateError(file: string, loadMs: number): Error {
  const minutes = Number((loadMs / 60_000).toPrecision(3))
  return new RewardConfigError(
    `${file}: not loaded within ${minutes} minutes (rewardPatienceMinutes): its top-level code blocks, or awaits a promise that never settles`,
  )
}
