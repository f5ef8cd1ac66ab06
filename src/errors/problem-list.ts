/** Many problems of one file, to be reported together: counted, grouped by reason, and some of each reason shown. */

/** Groups that are told apart; what is beyond them is one. */
const maxGroups = 1000
/** Reasons that are listed. */
const listedReasons = 10

interface Problem {
  /** Of its file, among the files as they came. */
  readonly file: number
  /** Of its line or row in the file. */
  readonly number: number
  readonly line: string
}

interface Group {
  count: number
  /** The first of them, in order. */
  readonly shown: Problem[]
}

/** By files and lines: rows are often read in another order. */
const compare = (a: Problem, b: Problem): number => a.file - b.file || a.number - b.number

export class ProblemList {
  readonly #groups = new Map<string, Group>()
  readonly #first: Problem[] = []
  readonly #files = new Map<string, number>()
  #count = 0

  /** `listed`: how many are shown. */
  constructor(private readonly listed = 10) {}

  get count(): number {
    return this.#count
  }

  add(where: string, message: string): void {
    const reason = reasonOf(message)
    const isKnown = this.#groups.has(reason) || this.#groups.size < maxGroups
    const key = isKnown ? reason : 'other reasons'
    const group = this.#groups.get(key) ?? { count: 0, shown: [] }
    this.#groups.set(key, group)
    const [, file = where, number = 0] = /^(.*)(?::|, row )(\d+)$/s.exec(where) ?? []
    if (!this.#files.has(file)) this.#files.set(file, this.#files.size)
    const problem = { file: this.#files.get(file)!, number: Number(number), line: `  ${where}: ${message}` }
    group.count++
    this.#keep(group.shown, problem)
    this.#keep(this.#first, problem)
    this.#count++
  }

  /** Among as many as are shown, if it is one of the first. */
  #keep(first: Problem[], problem: Problem): void {
    const at = first.findLastIndex(one => compare(one, problem) <= 0) + 1
    if (at < this.listed) first.splice(at, 0, problem)
    if (first.length > this.listed) first.pop()
  }

  /** Lines in the order of the file; then how many more there are, and of which reasons. */
  get lines(): string[] {
    const more = this.#count - this.#first.length
    // Reasons that hardly repeat say no more than the first problems do.
    const isGrouped = more > 0 && this.#groups.size > 1 && this.#groups.size <= this.#count / 2
    const shown = isGrouped ? this.#ofEachReason() : this.#first
    const lines = shown.map(({ line }) => line)
    if (more === 0) return lines
    return [...lines, `  and ${amount(more)} more`, ...(isGrouped ? this.#reasons() : [])]
  }

  /** The first of each reason, then the second of each, while there is room. */
  #ofEachReason(): Problem[] {
    const groups = [...this.#groups.values()]
    const chosen: Problem[] = []
    for (let turn = 0; turn < this.listed && chosen.length < this.listed; turn++)
      chosen.push(...groups.flatMap(({ shown }) => shown.slice(turn, turn + 1)).slice(0, this.listed - chosen.length))
    return chosen.sort(compare)
  }

  #reasons(): string[] {
    const sorted = [...this.#groups].sort(([, a], [, b]) => b.count - a.count)
    const width = amount(sorted[0]![1].count).length
    const lines = sorted
      .slice(0, listedReasons)
      .map(([reason, { count }]) => `  ${amount(count).padStart(width)} ${reason}`)
    const more = sorted.length - lines.length
    return ['by reason:', ...lines, ...(more > 0 ? [`  and ${more} more reasons`] : [])]
  }
}

const amount = (count: number): string => count.toLocaleString('en')

/** A message without what differs from row to row: numbers, quoted values, and what to do. */
function reasonOf(message: string): string {
  const [problem] = message.split(/; | \(|, got /)
  return problem!.replace(/"(?:[^"\\]|\\.)*"/g, '"..."').replace(/\b\d+(\.\d+)?\b/g, 'N')
}
