/** Questions about samples: which ones, in which order, and what their table shows. */
import type { Flag, SampleColumn, SampleRow, SamplesAnswer } from '../api.js'
import { RequestError } from '../errors.js'
import { type ColumnName, pieceBits, pieceRows } from './columns.js'
import type { SampleIndex } from './sample-index.js'
import { searchTexts } from './search.js'
import { applyCondition, finishes, parseWhere, promptHash } from './where.js'

export interface SampleQuestion {
  readonly where: string
  readonly search: string
  readonly sort: SampleColumn
  readonly order: 'ascending' | 'descending'
  readonly offset: number
  readonly limit: number
  /** How long a search may take; what it has found by then is the answer. */
  readonly searchMs: number
  readonly flags: ReadonlyMap<string, Flag>
}

const sortable: readonly string[] = ['iteration', 'reward', 'length', 'kl', 'entropy', 'gap', 'promptLength']
/** Bytes of each text in a table. */
const snippetBytes = 400

export async function findRows(
  index: SampleIndex,
  question: Pick<SampleQuestion, 'where' | 'search' | 'searchMs' | 'flags'>,
): Promise<{ matches: Uint8Array; complete: boolean }> {
  const { store, visible } = index
  const words = { dropReasons: store.reasons, components: store.columns.componentNames }
  const conditions = parseWhere(question.where, words)
  const matches = new Uint8Array(visible).fill(question.search === '' ? 1 : 0)
  let complete = true
  if (question.search !== '') {
    const deadline = performance.now() + question.searchMs
    const { columns, stored, foldedFile: file, foldedBytes: bytes } = store
    const rows = Math.min(stored, visible)
    const needle = question.search
    complete = await searchTexts({ columns, rows, file, bytes, needle, deadline }, matches)
    const low = needle.toLowerCase()
    let row = stored
    for (const { prompt, response } of index.openTexts()) {
      if (row >= visible) break
      if (prompt.toLowerCase().includes(low) || response.toLowerCase().includes(low)) matches[row] = 1
      row++
    }
  }
  for (const condition of conditions) {
    if (condition.kind === 'flagged') {
      const flagged = new Set([...question.flags.keys()].map(id => rowOf(index, id)))
      for (let row = 0; row < visible; row++) if (flagged.has(row) !== condition.value) matches[row] = 0
      continue
    }
    for (const [place, piece] of store.columns.pieces.entries()) {
      const from = place * pieceRows
      if (from < visible) applyCondition(condition, piece, matches.subarray(from, Math.min(visible, from + pieceRows)))
    }
  }
  return { matches, complete }
}

export async function askSamples(index: SampleIndex, question: SampleQuestion): Promise<SamplesAnswer> {
  const started = performance.now()
  const { store } = index
  const { matches, complete } = await findRows(index, question)
  let total = 0
  for (let row = 0; row < matches.length; row++) total += matches[row]!
  const chosen = sorted(index, matches, question)
  const rows: SampleRow[] = []
  for (const row of chosen) rows.push(await rowShown(index, row, question.flags))
  return {
    rows,
    total,
    complete,
    components: [...store.columns.componentNames].sort(),
    dropReasons: store.reasons.filter(reason => reason !== ''),
    index: index.progress,
    milliseconds: Math.round(performance.now() - started),
  }
}

/** The rows of a page. Only as many as it needs are sorted. */
function sorted(index: SampleIndex, matches: Uint8Array, question: SampleQuestion): number[] {
  const { sort, order, offset, limit } = question
  const value = readerOf(index, sort)
  const sign = order === 'ascending' ? 1 : -1
  // Numbers that are not there come last in both orders; equal ones in the order of the run.
  const key = (row: number): number => {
    const found = value(row)
    return Number.isNaN(found) ? Number.POSITIVE_INFINITY : sign * found
  }
  const newestFirst = sort === 'iteration' && order === 'descending'
  const before = (a: number, b: number): number => key(a) - key(b) || (newestFirst ? b - a : a - b)
  const wanted = offset + limit
  const kept: number[] = []
  let worst = Number.POSITIVE_INFINITY
  for (let i = 0; i < matches.length; i++) {
    const row = newestFirst ? matches.length - 1 - i : i
    if (!matches[row]) continue
    // Sorted rows come in their order: what follows the page is not looked at.
    if (newestFirst && kept.length >= wanted) break
    if (kept.length >= 2 * wanted + 1024) {
      kept.sort(before).length = wanted
      worst = key(kept[wanted - 1]!)
    }
    if (kept.length >= wanted && key(row) > worst) continue
    kept.push(row)
  }
  return kept.sort(before).slice(offset, wanted)
}

function readerOf(index: SampleIndex, sort: SampleColumn): (row: number) => number {
  const { columns } = index.store
  if (sort.startsWith('component.')) {
    const name = sort.slice('component.'.length)
    return row => columns.component(row, name)
  }
  if (!sortable.includes(sort))
    throw new RequestError(400, `sort: expected one of ${sortable.join(', ')} or component.NAME`)
  const { pieces } = columns
  return row => pieces[row >> pieceBits]![sort as ColumnName][row & (pieceRows - 1)]!
}

export async function rowShown(
  index: SampleIndex,
  row: number,
  flags: ReadonlyMap<string, Flag>,
  { most = snippetBytes }: { most?: number } = {},
): Promise<SampleRow> {
  const { columns, reasons } = index.store
  const { promptId, prompt, response } = await index.texts(row, { most })
  const at = (name: ColumnName): number => columns.at(row, name)
  const known = (value: number): number | null => (Number.isNaN(value) ? null : value)
  const id = sampleId({ iteration: at('iteration'), sample: at('sample'), promptId })
  const components = columns.componentNames.map(name => [name, columns.component(row, name)] as const)
  return {
    id,
    iteration: at('iteration'),
    promptId,
    sample: at('sample'),
    prompt,
    response,
    reward: known(at('reward')),
    components: Object.fromEntries(components.filter(([, value]) => !Number.isNaN(value))),
    length: at('length'),
    promptLength: at('promptLength'),
    kl: known(at('kl')),
    entropy: known(at('entropy')),
    gap: known(at('gap')),
    finish: finishes[at('finish')]!,
    dropped: reasons[at('dropped')] || null,
    trained: at('trained') === 1,
    flag: flags.get(id) ?? null,
  }
}

function sampleId(key: { iteration: number; sample: number; promptId: string }): string {
  return `${key.iteration}.${key.sample}.${key.promptId}`
}

export function parseSampleId(id: string): { iteration: number; sample: number; promptId: string } {
  const [, iteration, sample, promptId] = /^(\d{1,15})\.(\d{1,9})\.(.*)$/s.exec(id) ?? []
  if (promptId === undefined) throw new RequestError(404, `there is no sample ${JSON.stringify(id.slice(0, 100))}`)
  return { iteration: Number(iteration), sample: Number(sample), promptId }
}

/** Where a sample lies; undefined where the run has none of this id. */
export function rowOf(index: SampleIndex, id: string): number | undefined {
  const { iteration, sample, promptId } = parseSampleId(id)
  const { columns } = index.store
  const hash = promptHash(promptId)
  for (let row = columns.firstOf(iteration); row < index.visible; row++) {
    if (columns.at(row, 'iteration') !== iteration) return undefined
    if (columns.at(row, 'prompt') === hash && columns.at(row, 'sample') === sample) return row
  }
  return undefined
}
