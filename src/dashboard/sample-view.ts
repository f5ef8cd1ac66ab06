/** The samples of a run for the command line: the index that the page has, in this process, read to its end. */
import { resolve } from 'node:path'
import { InputError } from '../errors/index.js'
import { Run } from '../run/index.js'
import type { SampleColumn, SampleRow } from './api.js'
import { RequestError } from './errors.js'
import { Flags } from './flags.js'
import { askSamples, rowOf, rowShown } from './samples/query.js'
import type { SampleIndex } from './samples/sample-index.js'

interface SampleViewQuery {
  readonly where: string
  readonly search: string
  readonly sort: string
  readonly order: 'ascending' | 'descending'
  readonly limit: number
  /** Whole texts, or the beginning of each. */
  readonly whole: 'yes' | 'no'
}

export class SampleView {
  private constructor(
    private readonly index: SampleIndex,
    private readonly flags: Flags,
    /** What the run trains by: only `rl` has samples. */
    readonly command: string,
  ) {}

  static async open(directory: string): Promise<SampleView> {
    const path = resolve(directory)
    // An error of a directory that is no run comes before anything is written.
    const { config } = await Run.read(path)
    // Loaded when it is needed: the server, which is of the same room, has it in another thread.
    const { SampleIndex: Index } = await import('./samples/sample-index.js')
    return new SampleView(await Index.open(path), new Flags(path), config.command)
  }

  /** An InputError says what is wrong with a query. */
  async samples(query: SampleViewQuery): Promise<{ rows: SampleRow[]; total: number; problem: string | null }> {
    await this.index.refresh()
    const flags = await this.flags.all()
    const sort = query.sort as SampleColumn
    const asked = { ...query, sort, offset: 0, searchMs: Number.POSITIVE_INFINITY, flags }
    const { rows, total } = await askSamples(this.index, asked).catch((error: unknown) => {
      throw error instanceof RequestError ? new InputError(error.message) : error
    })
    const { problem } = this.index.progress
    if (query.whole === 'no') return { rows: [...rows], total, problem }
    const whole: SampleRow[] = []
    for (const { id } of rows) whole.push(await rowShown(this.index, rowOf(this.index, id)!, flags, { most: 100_000 }))
    return { rows: whole, total, problem }
  }

  async close(): Promise<void> {
    await this.index.close()
  }
}
