/**
 * The rewards of a file. Each call goes to a process of the file: copies go in, results come out. A process that ends is started
 * again; its current calls fail, and calls that it had not started go to the next process.
 */
import type { Tokenizer } from '../../text/index.js'
import type { RewardFn } from '../aggregator.js'
import type { RewardEngineOptions } from '../engine-options.js'
import { SourceError } from '../errors.js'
import type { SourceOutcome } from '../outcome.js'
import { defaultLimits, type RewardSource } from '../source.js'
import type { FileDescription, SourceDescription } from './messages.js'
import { type ProcessCall, type ProcessOptions, RewardProcess } from './reward-process.js'

interface RewardFileOptions {
  /** Directory of the policy's tokenizer. */
  readonly tokenizer?: string | undefined
  /** How many processes. Default 1. */
  readonly workers?: number | undefined
  /** How long the file may take to load. Default 10. */
  readonly patienceMinutes?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Of the options that rewards are loaded with, those for files. */
export function fileOptionsOf(
  options: Omit<RewardFileOptions, 'tokenizer'> & { tokenizer?: Tokenizer },
): RewardFileOptions {
  const { tokenizer, workers, patienceMinutes, signal } = options
  return { tokenizer: tokenizer?.dir, workers, patienceMinutes, signal }
}

/** What an engine is made of, from a module. Closing any of its sources ends the processes. */
export async function openRewardFile(
  file: string,
  options: RewardFileOptions = {},
): Promise<{ form: FileDescription['form']; options: RewardEngineOptions & { sources: readonly RewardSource[] } }> {
  const { tokenizer, workers = 1, patienceMinutes = 10, signal } = options
  const pool = new Pool({ file, tokenizer, loadMs: patienceMinutes * 60_000, signal }, workers)
  const { form, sources, aggregates, events, ...plain } = await pool.open()
  const made = sources.map((source, place) => sourceOf(source, place, pool, workers))
  const told = events.map(name => [name, (event: unknown) => pool.tell(name, event)])
  return {
    form,
    options: {
      ...plain,
      ...Object.fromEntries(told),
      sources: made,
      ...(aggregates ? { rewardFn: aggregatorOf(sources.length, pool) } : {}),
    },
  }
}

function sourceOf(
  { name, kind, limits, needsTarget, columns, asksModel }: SourceDescription,
  place: number,
  pool: Pool,
  workers: number,
): RewardSource {
  return {
    name,
    kind,
    // Allow one call per process, so that all processes have work.
    limits: kind === 'function' ? { ...limits, concurrency: Math.max(limits.concurrency, workers) } : limits,
    ...(needsTarget ? { needsTarget } : {}),
    ...(columns.length > 0 ? { rowProblem: row => missingColumn(columns, row) } : {}),
    ...(asksModel ? { model: {} } : {}),
    isolated: true,
    score: (items, context) => pool.score(place, items, context),
    close: () => pool.close(),
  }
}

function missingColumn(columns: readonly string[], row: unknown): string | undefined {
  const missing = columns.find(name => (row as Readonly<Record<string, unknown>>)[name] === undefined)
  return missing && `row.${missing}: missing. Check the dataset's column, or the schema given to defineReward.`
}

/** As a function, for the options of an engine; as a source, for the engine that asks it. */
function aggregatorOf(place: number, pool: Pool): RewardFn {
  const source: RewardSource<unknown> = {
    name: 'rewardFn',
    kind: 'function',
    limits: defaultLimits.batchFunction,
    isolated: true,
    score: (items, context) => pool.score(place, items, context),
    close: () => pool.close(),
  }
  const fn: RewardFn = () => {
    throw new Error('the reward function of a file runs only in its process')
  }
  return Object.assign(fn, { source })
}

interface CallContext {
  readonly signal: AbortSignal
  readonly entered?: (() => void) | undefined
}

/** A call, and the process that has it. */
interface PooledCall extends ProcessCall {
  process: RewardProcess | undefined
}

class Pool {
  private readonly processes: (RewardProcess | undefined)[]
  /** Calls that wait for a process. */
  private readonly waiting: PooledCall[] = []
  private starting = 0
  private closed = false

  constructor(
    private readonly options: Omit<ProcessOptions, 'onEnd'>,
    workers: number,
  ) {
    this.processes = new Array<RewardProcess | undefined>(workers).fill(undefined)
  }

  async open(): Promise<FileDescription> {
    const opened = await Promise.allSettled(this.processes.map((_, place) => this.start(place)))
    const failed = opened.find(one => one.status === 'rejected')
    if (failed) {
      await this.close()
      throw failed.reason
    }
    return (opened[0] as PromiseFulfilledResult<FileDescription>).value
  }

  score(source: number, items: readonly unknown[], context: CallContext): Promise<readonly SourceOutcome[]> {
    return new Promise((resolve, reject) => {
      const entered = (): void => context.entered?.()
      const call: PooledCall = { source, items, entered, resolve, reject, process: undefined }
      context.signal.addEventListener('abort', () => this.giveUp(call, context.signal.reason), { once: true })
      this.place(call)
    })
  }

  tell(name: string, event: unknown): void {
    for (const one of this.processes) one?.tell(name, event)
  }

  async close(): Promise<void> {
    this.closed = true
    for (const call of this.waiting.splice(0)) call.reject(closedError)
    await Promise.all(this.processes.map(one => one?.close()))
  }

  private giveUp(call: PooledCall, reason: unknown): void {
    const place = this.waiting.indexOf(call)
    if (place < 0) call.process?.giveUp(call, reason)
    else {
      this.waiting.splice(place, 1)
      call.reject(reason)
    }
  }

  /** To the process with the fewest calls. */
  private place(call: PooledCall): void {
    const there = this.processes.filter(one => one !== undefined)
    if (this.closed) call.reject(closedError)
    else if (there.length > 0) {
      call.process = there.reduce((a, b) => (b.size < a.size ? b : a))
      call.process.call(call)
    } else {
      call.process = undefined
      this.waiting.push(call)
      if (this.starting === 0) void this.restart(0)
    }
  }

  private async start(place: number): Promise<FileDescription> {
    const onEnd = (left: readonly ProcessCall[]): void => {
      this.processes[place] = undefined
      const restarted = this.restart(place)
      for (const call of left) this.place(call as PooledCall)
      void restarted
    }
    const { process, description } = await RewardProcess.start({ ...this.options, onEnd })
    if (this.closed) await process.close()
    else this.processes[place] = process
    return description
  }

  private async restart(place: number): Promise<void> {
    if (this.closed) return
    this.starting++
    try {
      await this.start(place)
    } catch (error) {
      // Waiting callers get the error. The next call tries again.
      const message = `the reward's process cannot be started again: ${(error as Error).message}`
      const none = this.starting === 1 && this.processes.every(one => one === undefined)
      if (none) for (const call of this.waiting.splice(0)) call.reject(new SourceError('crashed', message))
    } finally {
      this.starting--
    }
    for (const call of this.waiting.splice(0)) this.place(call)
  }
}

const closedError = new SourceError('aborted', 'the rewards were closed')
