/** Conditions on samples, as a person types them: `reward<0.5 finish=length component.format=1`. Pure. */
import { crc32 } from 'node:zlib'
import { RequestError } from '../errors.js'
import type { ColumnName, Piece } from './columns.js'

export const finishes = ['stop', 'length', 'abort', 'rejected', 'failed'] as const

type Compare = '=' | '!=' | '<' | '<=' | '>' | '>='

/** One condition, compiled for a piece of the columns. */
type Condition =
  | { readonly kind: 'number'; readonly column: ColumnName; readonly compare: Compare; readonly value: number }
  | { readonly kind: 'component'; readonly name: string; readonly compare: Compare; readonly value: number }
  | { readonly kind: 'flagged'; readonly value: boolean }

/** What words mean that stand for numbers. */
interface WhereWords {
  readonly dropReasons: readonly string[]
  readonly components: readonly string[]
}

const numbers: Readonly<Record<string, ColumnName>> = {
  iteration: 'iteration',
  step: 'iteration',
  sample: 'sample',
  reward: 'reward',
  length: 'length',
  promptLength: 'promptLength',
  kl: 'kl',
  entropy: 'entropy',
  gap: 'gap',
}

const whereHelp =
  'conditions are NAME=VALUE with =, !=, <, <=, > or >=, and spaces between them. Names: iteration, sample, reward, length, promptLength, kl, entropy, gap, component.NAME, finish (stop, length, abort, rejected, failed), dropped (a reason, yes or no), trained (yes or no), flagged (yes or no), prompt (an id)'

export function parseWhere(text: string, words: WhereWords): Condition[] {
  const parts = text.match(/(?:[^\s"]|"[^"]*")+/g) ?? []
  return parts.map(part => condition(part, words))
}

function condition(part: string, { dropReasons, components }: WhereWords): Condition {
  const [, name = '', compare = '', quoted = ''] = /^([\w.:/-]+?)(!=|<=|>=|=|<|>)(.*)$/s.exec(part) ?? []
  const value = quoted.replace(/^"(.*)"$/s, '$1')
  const refuse = (why: string): RequestError =>
    new RequestError(400, `where: ${JSON.stringify(part.slice(0, 80))}: ${why}; ${whereHelp}`)
  if (name === '' || value === '') throw refuse('this is not a condition')
  const how = compare as Compare
  const equal = (): '=' | '!=' => {
    if (how !== '=' && how !== '!=') throw refuse(`${name} can only be compared with = and !=`)
    return how
  }
  const yes = (): boolean => {
    if (value !== 'yes' && value !== 'no') throw refuse('expected yes or no')
    return (value === 'yes') === (equal() === '=')
  }
  const number = (): number => {
    const found = Number(value)
    if (!Number.isFinite(found)) throw refuse('expected a number')
    return found
  }
  if (name in numbers) return { kind: 'number', column: numbers[name]!, compare: how, value: number() }
  if (name.startsWith('component.')) {
    const component = name.slice('component.'.length)
    if (!components.includes(component)) throw refuse(`there is no component "${component}"`)
    return { kind: 'component', name: component, compare: how, value: number() }
  }
  if (name === 'finish') {
    const place = (finishes as readonly string[]).indexOf(value)
    if (place < 0) throw refuse(`expected one of ${finishes.join(', ')}`)
    return { kind: 'number', column: 'finish', compare: equal(), value: place }
  }
  if (name === 'trained') return { kind: 'number', column: 'trained', compare: yes() ? '=' : '!=', value: 1 }
  if (name === 'flagged') return { kind: 'flagged', value: yes() }
  if (name === 'prompt') return { kind: 'number', column: 'prompt', compare: equal(), value: promptHash(value) }
  if (name !== 'dropped') throw refuse(`there is no "${name}"`)
  if (value === 'yes' || value === 'no')
    return { kind: 'number', column: 'dropped', compare: yes() ? '!=' : '=', value: 0 }
  // A reason that no sample has matches nothing.
  const place = dropReasons.indexOf(value)
  return { kind: 'number', column: 'dropped', compare: equal(), value: place < 0 ? 255 : place }
}

export const promptHash = (promptId: string): number => crc32(promptId)

/** Sets `matches` to 0 for the rows of a piece that do not hold. NaN, a number that is not there, never holds. */
export function applyCondition(
  { kind, ...rest }: Exclude<Condition, { kind: 'flagged' }>,
  piece: Piece,
  matches: Uint8Array,
): void {
  const { compare, value } = rest
  const column =
    kind === 'number'
      ? piece[(rest as { column: ColumnName }).column]
      : piece.components.get((rest as { name: string }).name)
  if (!column) {
    matches.fill(0)
    return
  }
  const rows = matches.length
  // Float32 columns hold rounded values: 0.1 in a question means the 0.1 of the column.
  const wanted = column instanceof Float32Array ? Math.fround(value) : value
  switch (compare) {
    case '=':
      for (let i = 0; i < rows; i++) if (column[i] !== wanted) matches[i] = 0
      return
    case '!=':
      for (let i = 0; i < rows; i++) if (column[i] === wanted || Number.isNaN(column[i])) matches[i] = 0
      return
    case '<':
      for (let i = 0; i < rows; i++) if (!(column[i]! < wanted)) matches[i] = 0
      return
    case '<=':
      for (let i = 0; i < rows; i++) if (!(column[i]! <= wanted)) matches[i] = 0
      return
    case '>':
      for (let i = 0; i < rows; i++) if (!(column[i]! > wanted)) matches[i] = 0
      return
    default:
      for (let i = 0; i < rows; i++) if (!(column[i]! >= wanted)) matches[i] = 0
  }
}
