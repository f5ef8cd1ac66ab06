/**
 * All samples of a run: those of finished iterations in an index on the disk, those of iterations in progress in memory. `refresh` takes in
 * what the journal has gained; questions read columns and the few texts that are shown.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import { Journal, JournalError, RunReader, type RunView, runPaths } from '../../run/index.js'
import { Tokenizer } from '../../text/index.js'
import { type JournalledSample, journalledSamples } from '../../train/records.js'
import type { IndexProgress } from '../api.js'
import type { NumberRow } from './columns.js'
import { DropReasons, fateOf, type SampleFate } from './drop-reasons.js'
import { settingsAt } from './settings.js'
import { SampleStore, type TextBytes, type TextEntry, textEntry } from './store.js'
import { finishes, promptHash } from './where.js'

/** Rows that are written to the disk at once, and read from the journal without a pause for questions; fewer where they are long. */
const [rowsAtOnce, rowBytesAtOnce] = [8192, 32 << 20]
/** Files of the journal that are read at once; fewer where they are large. */
const [filesAhead, bytesAhead] = [8, 8 << 20]
/** Files whose sizes are asked for together. */
const statsAtOnce = 256
/** Nanoseconds that times of files may be wrong by: some disks count whole seconds. */
const clockTick = 2_000_000_000n
/** An iteration this far behind the newest has everything in its logs. */
const settledAfter = 2
/** Iterations that are kept as they were read: more than are in progress. */
const newest = 4

interface OpenRow {
  readonly number: NumberRow
  readonly text: TextBytes
}

/** Iterations of the journal, ascending, and how long their files are. */
interface JournalFiles {
  readonly iterations: readonly number[]
  readonly sizes: Float64Array
}

/** What rows are made of: a journal also has the numbers of each token, which take far more memory. */
interface ReadSample {
  readonly number: Omit<NumberRow, 'dropped'>
  readonly text: TextBytes
  readonly fate: SampleFate
}

interface ReadIteration {
  readonly samples: readonly ReadSample[]
  /** Nothing more is added to it. */
  readonly ended: boolean
  readonly problem: string | undefined
}

interface WholeIteration {
  readonly iteration: number
  readonly size: number
  readonly rows: readonly OpenRow[]
}

export class SampleIndex {
  /** Rows that questions see. */
  visible = 0
  /** Changes whenever rows may have become others: what a question has read of them by then does not hold. */
  generation = 0
  readonly store: SampleStore
  readonly directory: string
  readonly #reader: RunReader
  readonly #reasons: DropReasons
  /** Of iterations in progress, behind the stored rows. */
  #open: OpenRow[] = []
  #openSizes: string | undefined
  #tokenizer: Promise<Tokenizer> | undefined
  /** The newest iterations as they were read last: a run that trains adds to one of them, and questions come more often than that. */
  #newest = new Map<number, { readonly size: number; readonly read: Promise<ReadIteration> }>()
  /** Until the journal was looked at for the first time, samples may come. */
  #progress: IndexProgress = { ...empty, state: 'building' }
  #journal: { readonly seen: bigint; readonly iterations: readonly number[] } = { seen: -1n, iterations: [] }
  #checked = ''
  #refreshing: Promise<void> | undefined
  #swapping: Promise<void> = Promise.resolve()
  #closed = false

  private constructor(directory: string, store: SampleStore) {
    this.directory = directory
    this.store = store
    this.#reader = new RunReader(directory, { metrics: false })
    this.#reasons = new DropReasons(directory)
    this.visible = store.stored
  }

  static async open(directory: string): Promise<SampleIndex> {
    return new SampleIndex(directory, await SampleStore.open(directory))
  }

  get progress(): IndexProgress {
    return this.#progress
  }

  /** Takes in what is new. A call during another one waits for that one. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh()
      .catch((error: unknown) => {
        // Such as a tokenizer that is not there yet: what is indexed can be looked at, and the reason is shown.
        const problem = error instanceof Error ? error.message : String(error)
        this.#progress = { ...this.#progress, state: 'ready', problem }
      })
      .finally(() => {
        this.#refreshing = undefined
      })
    return this.#refreshing
  }

  /** Waits where rows are just being replaced by newer ones, so that no question sees the gap. */
  async whole(): Promise<void> {
    await this.#swapping.catch(() => {})
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#refreshing?.catch(() => {})
    await this.store.close()
  }

  /** Id and texts of a row; the first `most` bytes of each. */
  async texts(row: number, options: { most: number }): Promise<TextEntry> {
    const open = this.#open[row - this.store.stored]
    return open ? textEntry(open.text, options) : this.store.texts(row, options)
  }

  /** Texts of rows in progress, for a search. */
  *openTexts(): Generator<TextEntry> {
    for (const { text } of this.#open) yield textEntry(text, { most: Number.POSITIVE_INFINITY })
  }

  async view(): Promise<RunView> {
    return this.#reader.read()
  }

  async tokenizer(): Promise<Tokenizer> {
    this.#tokenizer ??= Tokenizer.load(join(this.directory, 'tokenizer')).catch((error: unknown) => {
      // It may be there the next time.
      this.#tokenizer = undefined
      throw error
    })
    return this.#tokenizer
  }

  async #refresh(): Promise<void> {
    const view = await this.#reader.read()
    // Other trainings sample nothing.
    if (view.config.command !== 'rl') {
      this.#progress = empty
      return
    }
    const files = await this.#journalFiles(view)
    const total = files.sizes.reduce((sum, size) => sum + size, 0)
    await this.#forgetRewritten(files)
    if (view.status !== 'running') await this.store.checked(resumesOf(view))
    await this.#reasons.refresh()
    const last = files.iterations.at(-1) ?? -1
    const isOver = view.status !== 'running'
    const waiting: { iteration: number; size: number }[] = []
    for (const [at, iteration] of files.iterations.entries())
      if (!this.store.sealed.has(iteration)) waiting.push({ iteration, size: files.sizes[at]! })
    const sizes = waiting.map(({ iteration, size }) => `${iteration}:${size}`).join()
    if (sizes === this.#openSizes && !isOver === this.#wasRunning) return
    let done = total - waiting.reduce((sum, { size }) => sum + size, 0)
    const started = performance.now()
    const before = this.store.stored
    const report = (state: 'building' | 'ready', problem: string | null = this.#progress.problem): void => {
      const seconds = (performance.now() - started) / 1000
      const made = this.store.stored - before
      this.#progress = {
        state,
        samples: this.visible,
        doneBytes: done,
        totalBytes: total,
        samplesPerSecond: made > 1000 ? Math.round(made / seconds) : this.#progress.samplesPerSecond,
        problem,
      }
    }
    report('building', null)
    const open: OpenRow[] = []
    let whole: WholeIteration[] = []
    let [count, bytes] = [0, 0]
    // Rows in progress are shown until those that take their place are read.
    const save = async (): Promise<void> => {
      this.#dropOpen()
      for (const { iteration, size, rows } of whole) {
        for (const { number, text } of rows) this.store.add(number, text)
        this.store.seal({ iteration, size })
        this.#reasons.forget(iteration)
      }
      whole = []
      count = 0
      bytes = 0
      await this.store.save()
      this.visible = this.store.stored
    }
    let canSeal = !this.store.isReader
    // The next files are read while the rows of one are made.
    const ahead: Promise<ReadIteration>[] = []
    let aheadBytes = 0
    for (const [place, { iteration, size }] of waiting.entries()) {
      if (this.#closed) return
      while (ahead.length < filesAhead && place + ahead.length < waiting.length) {
        const next = waiting[place + ahead.length]!
        if (ahead.length > 0 && aheadBytes + next.size > bytesAhead) break
        aheadBytes += next.size
        const known = this.#newest.get(next.iteration)
        const read = known?.size === next.size ? known.read : this.#readIteration(view, next.iteration)
        if (next.iteration > last - newest) this.#newest.set(next.iteration, { size: next.size, read })
        // A failure is told when its turn comes.
        read.catch(() => this.#newest.delete(next.iteration))
        ahead.push(read)
      }
      const { samples, ended, problem } = await ahead.shift()!
      aheadBytes -= size
      const rows = samples.map(({ number, text, fate }) => {
        const reason = this.#reasons.of(iteration, { ...text, sample: number.sample, fate })
        return { number: { ...number, dropped: this.#reasonPlace(reason) }, text }
      })
      done += size
      if (problem !== undefined) {
        report('building', problem)
        this.#newest.delete(iteration)
      }
      // The last one of a run that may go on may be written to again.
      const isSettled = iteration <= last - settledAfter || (isOver && iteration < last) || view.status === 'finished'
      canSeal &&= ended && isSettled
      if (canSeal) {
        whole.push({ iteration, size, rows })
        count += rows.length
        bytes += size
      } else open.push(...rows)
      if (count < rowsAtOnce && bytes < rowBytesAtOnce) continue
      await save()
      report('building')
      await pause()
    }
    this.#swapping = save().then(() => {
      for (const { number } of open) this.store.columns.add(number)
      this.#open = open
      this.visible = this.store.columns.rows
    })
    await this.#swapping
    for (const iteration of this.#newest.keys())
      if (iteration <= last - newest || this.store.sealed.has(iteration)) this.#newest.delete(iteration)
    this.#openSizes = sizes
    this.#wasRunning = !isOver
    report('ready')
  }

  #wasRunning = true

  #dropOpen(): void {
    this.generation++
    this.visible = this.store.stored
    this.store.columns.truncate(this.store.stored)
    this.#open = []
  }

  /** Files of the journal with their sizes. Those that were sealed are only looked at again where a run was resumed. */
  async #journalFiles(view: RunView): Promise<JournalFiles> {
    const { journal } = runPaths(this.directory)
    // A directory without a new file has the same ones as before. It is looked at before it is listed.
    const { mtimeNs = 0n } = (await stat(journal, { bigint: true }).catch(() => undefined)) ?? {}
    if (this.#journal.seen !== mtimeNs) {
      const names = await readdir(journal).catch((): string[] => [])
      const iterations: number[] = []
      for (const name of names) if (/^\d{6,}\.jsonl$/.test(name)) iterations.push(Number.parseInt(name, 10))
      // A file that is added within the same tick of the clock does not change the time: it is listed again.
      const isOld = BigInt(Date.now()) * 1_000_000n - mtimeNs > clockTick
      this.#journal = { seen: isOld ? mtimeNs : -1n, iterations: iterations.sort((a, b) => a - b) }
    }
    // A run that goes on may still write to what it was resumed from: it is looked at again when it is over.
    const [resumes, isRunning] = [resumesOf(view), view.status === 'running']
    const checked = `${resumes} ${isRunning ? 'running' : 'over'}`
    const all = checked !== this.#checked && (isRunning || resumes !== this.store.checkedResumes)
    this.#checked = checked
    const { iterations } = this.#journal
    const sizeOf = async (iteration: number): Promise<number> =>
      (await stat(join(journal, `${String(iteration).padStart(6, '0')}.jsonl`)).catch(() => ({ size: 0 }))).size
    const sizes = new Float64Array(iterations.length)
    let asked: Promise<void>[] = []
    for (const [at, iteration] of iterations.entries()) {
      const known = all ? undefined : this.store.sealed.get(iteration)
      if (known !== undefined) {
        sizes[at] = known
        continue
      }
      const ask = sizeOf(iteration).then(size => {
        sizes[at] = size
      })
      if (asked.push(ask) < statsAtOnce) continue
      await Promise.all(asked)
      asked = []
    }
    await Promise.all(asked)
    return { iterations, sizes }
  }

  async #forgetRewritten({ iterations, sizes }: JournalFiles): Promise<void> {
    if (this.store.isReader) return
    let first = Number.POSITIVE_INFINITY
    let at = 0
    // Both ascend, and an index knows of no iteration twice.
    for (const [iteration, size] of this.store.sealed) {
      while (at < iterations.length && iterations[at]! < iteration) at++
      if (iterations[at] !== iteration || sizes[at] !== size) first = Math.min(first, iteration)
    }
    if (first === Number.POSITIVE_INFINITY) return
    this.#dropOpen()
    this.#newest.clear()
    this.#openSizes = undefined
    await this.store.forgetFrom(first)
    this.visible = this.store.stored
  }

  /** A damaged file is told, and its samples are left out. */
  async #readIteration(view: RunView, iteration: number): Promise<ReadIteration> {
    try {
      const settings = await settingsAt(view, iteration)
      // One journal reads one file after another; each of these reads its own.
      const journal = new Journal(runPaths(this.directory).journal)
      const { samples, ended } = await journalledSamples(journal, iteration, settings)
      const tokenizer = await this.tokenizer()
      const decode = async (ids: Int32Array): Promise<Buffer> =>
        Buffer.from(await tokenizer.decode(ids, { skipSpecialTokens: true }))
      const prompts = new Map<string, Buffer>()
      const read: ReadSample[] = []
      for (const one of samples) {
        const { promptId, outcome } = one
        if (!prompts.has(promptId)) prompts.set(promptId, await decode(one.promptIds))
        const response = outcome.kind === 'completed' ? await decode(outcome.responseIds) : Buffer.from(outcome.message)
        const text = { promptId, prompt: prompts.get(promptId)!, response }
        read.push({ number: numbersOf(iteration, one), text, fate: fateOf(one) })
      }
      return { samples: read, ended, problem: undefined }
    } catch (error) {
      if (error instanceof JournalError) return { samples: [], ended: true, problem: error.message }
      throw error
    }
  }

  #reasonPlace(reason: string): number {
    const { reasons } = this.store
    const place = reasons.indexOf(reason)
    if (place >= 0) return place
    // A byte holds the place; there are a dozen reasons.
    return reasons.length < 250 ? reasons.push(reason) - 1 : 254
  }
}

function numbersOf(iteration: number, one: JournalledSample): Omit<NumberRow, 'dropped'> {
  const { promptId, sample, outcome, reward, trained } = one
  const finish = outcome.kind === 'completed' ? outcome.finishReason : outcome.kind
  const scored = reward?.kind === 'scored' ? reward : undefined
  const responseLength = outcome.kind === 'completed' ? outcome.responseIds.length : 0
  return {
    iteration,
    sample,
    prompt: promptHash(promptId),
    reward: scored?.reward ?? Number.NaN,
    components: scored?.components ?? {},
    // Of an episode, what was sampled.
    length: one.sampled?.reduce((sum, one) => sum + one, 0) ?? responseLength,
    promptLength: one.promptIds.length,
    kl: one.kl ?? Number.NaN,
    entropy: one.entropy ?? Number.NaN,
    gap: one.gap ?? Number.NaN,
    finish: finishes.indexOf(finish),
    trained: trained === undefined ? 2 : trained ? 1 : 0,
    foldAt: 0,
    foldBytes: 0,
  }
}

/** How often a run began or went on: each time it may write iterations again. */
function resumesOf({ events }: RunView): number {
  return events.filter(({ kind }) => kind === 'resumed' || kind === 'started').length
}

const empty: IndexProgress = {
  state: 'none',
  samples: 0,
  doneBytes: 0,
  totalBytes: 0,
  samplesPerSecond: null,
  problem: null,
}
