/**
 * The metrics of a run as columns: a line of the log is a row, and every metric is one array. A hundred thousand steps of sixty metrics are
 * 50 MB so; points as objects are made only of the metrics that are asked for, and columns of an index are read only then.
 */
import type { JsonObject } from './json-lines.js'
import type { MetricPoint } from './run-view.js'

/** Stands for "this line has no such metric". NaN is a value that a metric may have. */
const absent = -Number.MAX_VALUE

/** What a snapshot says of its columns. */
export interface MetricSnapshot {
  readonly rows: number
  readonly ascending: boolean
  readonly names: readonly string[]
}

/** Points of a metric, one array each. */
export interface MetricSeries {
  readonly steps: Float64Array
  readonly times: Float64Array
  readonly values: Float64Array
}

/** A column, or what reads it from a file. */
type Column = Float64Array | (() => Float64Array)

export class MetricTable {
  #rows = 0
  #steps: Float64Array = new Float64Array(64)
  #times: Float64Array = new Float64Array(64)
  readonly #columns = new Map<string, Column>()
  /** Whether steps rise from row to row, as they do unless the log was edited. */
  #ascending = true

  get rows(): number {
    return this.#rows
  }

  get names(): string[] {
    return [...this.#columns.keys()]
  }

  get lastStep(): number | undefined {
    return this.#rows === 0 ? undefined : this.#steps.subarray(0, this.#rows).reduce((a, b) => Math.max(a, b), 0)
  }

  get lastTime(): number | undefined {
    return this.#rows === 0 ? undefined : this.#times[this.#rows - 1]
  }

  clear(): void {
    this.#rows = 0
    this.#columns.clear()
    this.#ascending = true
  }

  /** Adds a line of the log; one that has not the shape of metrics is left out. */
  add(line: JsonObject): void {
    const { step, time, values } = line
    if (typeof step !== 'number' || typeof time !== 'string') return
    if (typeof values !== 'object' || values === null || Array.isArray(values)) return
    const row = this.#rows++
    if (row === this.#steps.length) this.#grow()
    if (row > 0 && step < this.#steps[row - 1]!) this.#ascending = false
    this.#steps[row] = step
    this.#times[row] = Date.parse(time)
    for (const [name, value] of Object.entries(values)) {
      if (typeof value !== 'number' && typeof value !== 'string') continue
      const column = this.#column(name) ?? new Float64Array(this.#steps.length).fill(absent)
      if (!this.#columns.has(name)) this.#columns.set(name, column)
      column[row] = Number(value)
    }
  }

  /** The points of a metric, ascending by step; the last line where a step has several. */
  points(name: string): MetricPoint[] {
    const { steps, times, values } = this.series(name)
    return Array.from(values, (value, at) => ({ step: steps[at]!, time: times[at]!, value }))
  }

  /** The same as arrays, in a tenth of the memory. */
  series(name: string): MetricSeries {
    const rows = this.#rowsOf(name)
    return { steps: taken(this.#steps, rows), times: taken(this.#times, rows), values: this.values(name, rows) }
  }

  /** The values alone. */
  values(name: string, rows: Uint32Array = this.#rowsOf(name)): Float64Array {
    return taken(this.#column(name) ?? new Float64Array(), rows)
  }

  /** The lines that have a metric: one of each step, ascending. */
  #rowsOf(name: string): Uint32Array {
    const column = this.#column(name)
    const count = this.count(name)
    const rows = new Uint32Array(count)
    let end = 0
    for (let row = 0; column && row < this.#rows; row++) {
      if (column[row] === absent) continue
      if (end > 0 && this.#steps[rows[end - 1]!] === this.#steps[row]) end--
      rows[end++] = row
    }
    const kept = rows.subarray(0, end)
    if (this.#ascending) return kept
    const bySteps = new Map(Array.from(kept, row => [this.#steps[row]!, row]))
    return Uint32Array.from([...bySteps].sort(([a], [b]) => a - b).map(([, row]) => row))
  }

  /** How many lines have a metric. */
  count(name: string): number {
    const column = this.#column(name)
    let count = 0
    for (let row = 0; column && row < this.#rows; row++) if (column[row] !== absent) count++
    return count
  }

  /** The newest value of a metric. */
  last(name: string): number | undefined {
    const column = this.#column(name)
    for (let row = this.#rows - 1; column && row >= 0; row--) if (column[row] !== absent) return column[row]
    return undefined
  }

  /** Header and columns, for a file that {@link MetricTable.restored} reads. */
  snapshot(): { header: MetricSnapshot; bytes: Uint8Array[] } {
    const whole = ({ buffer, byteOffset }: Float64Array): Uint8Array =>
      new Uint8Array(buffer, byteOffset, this.#rows * 8)
    return {
      header: { rows: this.#rows, ascending: this.#ascending, names: this.names },
      bytes: [this.#steps, this.#times, ...this.names.map(name => this.#column(name)!)].map(whole),
    }
  }

  /** Over the columns of a snapshot, by their place in it. They are read when they are asked for. */
  static restored({ rows, ascending, names }: MetricSnapshot, read: (place: number) => Float64Array): MetricTable {
    const table = new MetricTable()
    table.#rows = rows
    table.#ascending = ascending
    table.#steps = read(0)
    table.#times = read(1)
    for (const [index, name] of names.entries()) table.#columns.set(name, () => read(index + 2))
    return table
  }

  #column(name: string): Float64Array | undefined {
    const known = this.#columns.get(name)
    if (typeof known !== 'function') return known
    const column = known()
    this.#columns.set(name, column)
    return column
  }

  #grow(): void {
    // A long log grows slowly: room for a quarter more is enough.
    const { length } = this.#steps
    const size = Math.max(64, length < 10_000 ? 2 * length : length + (length >> 2))
    const grown = (column: Float64Array, rest: number): Float64Array => {
      const wider = new Float64Array(size).fill(rest, column.length)
      wider.set(column)
      return wider
    }
    this.#steps = grown(this.#steps, 0)
    this.#times = grown(this.#times, 0)
    for (const name of this.names) this.#columns.set(name, grown(this.#column(name)!, absent))
  }
}

/** A loop: `Float64Array.from` takes ten times as long. */
function taken(column: Float64Array, rows: Uint32Array): Float64Array {
  const values = new Float64Array(rows.length)
  for (let at = 0; at < rows.length; at++) values[at] = column[rows[at]!]!
  return values
}
