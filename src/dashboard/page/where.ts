/** The conditions of the samples' table, `reward<0.5 finish=length`: put together from fields, and tried on the rows of a report. Pure. */
import type { SampleRow } from '../api.js'

/** Replaces the condition on one name and operator; an empty value takes it away. */
export function withCondition(where: string, name: string, compare: string, value: string): string {
  const parts = conditionsOf(where).filter(part => !part.startsWith(`${name}${compare}`))
  const quoted = /\s/.test(value) ? `"${value}"` : value
  return [...parts, ...(value === '' ? [] : [`${name}${compare}${quoted}`])].join(' ')
}

/** The value of the condition on this name with this operator; empty where there is none. */
export function conditionValue(where: string, name: string, compare: string): string {
  const part = conditionsOf(where).find(one => one.startsWith(`${name}${compare}`)) ?? ''
  return part.slice(name.length + compare.length).replace(/^"(.*)"$/s, '$1')
}

export function matches(row: SampleRow, where: string): boolean {
  return conditionsOf(where).every(part => holds(row, part))
}

const conditionsOf = (where: string): string[] => where.match(/(?:[^\s"]|"[^"]*")+/g) ?? []

function holds(row: SampleRow, part: string): boolean {
  const [, name = '', compare = '', quoted = ''] = /^([\w.:/-]+?)(!=|<=|>=|=|<|>)(.*)$/s.exec(part) ?? []
  const value = quoted.replace(/^"(.*)"$/s, '$1')
  if (name === '' || value === '') throw new Error(`where: ${JSON.stringify(part)} is not a condition`)
  const found = columnOf(row, name === 'step' ? 'iteration' : name, value)
  // What is not there is compared with nothing, as the server does it; a sample that was not dropped has another reason than any.
  if (found === null) return name === 'dropped' && compare === '!='
  // Rows have float32 numbers: 0.1 in a question means the 0.1 of the row.
  const wanted = typeof found === 'number' ? Math.fround(Number(value)) : value
  switch (compare) {
    case '=':
      return found === wanted
    case '!=':
      return found !== wanted
    case '<':
      return found < wanted
    case '<=':
      return found <= wanted
    case '>':
      return found > wanted
    default:
      return found >= wanted
  }
}

function columnOf(row: SampleRow, name: string, value: string): number | string | null {
  if (name.startsWith('component.')) return row.components[name.slice('component.'.length)] ?? null
  if (name === 'prompt') return row.promptId
  if (name === 'trained') return row.trained ? 'yes' : 'no'
  if (name === 'flagged') return row.flag ? 'yes' : 'no'
  if (name === 'dropped' && (value === 'yes' || value === 'no')) return row.dropped === null ? 'no' : 'yes'
  if (name in row) return row[name as 'reward']
  throw new Error(`where: there is no "${name}"`)
}
