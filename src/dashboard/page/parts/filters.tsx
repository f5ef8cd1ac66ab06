/** Fields for the common conditions, a field for all of them, and full-text search. */
import { useEffect, useState } from 'preact/hooks'
import type { SamplesAnswer } from '../../api.js'
import type { Address } from '../address.js'
import { tune } from '../hooks.js'
import { conditionValue, withCondition } from '../where.js'

interface FiltersProps {
  readonly address: Address
  readonly answer: SamplesAnswer | undefined
}

const finishes = ['stop', 'length', 'abort', 'rejected', 'failed']

export function Filters({ address, answer }: FiltersProps) {
  const where = address.query.where ?? ''
  const search = useTyped(address.query.search ?? '', value => tune(address, { search: value, offset: undefined }))
  const typed = useTyped(where, value => tune(address, { where: value, offset: undefined }))
  const set = (name: string, compare: string, value: string) =>
    tune(address, { where: withCondition(where, name, compare, value), offset: undefined })
  const numberField = (label: string, name: string, compare: string) => (
    <label class="field">
      {label}
      <input
        type="number"
        step="any"
        value={conditionValue(where, name, compare)}
        onChange={event => set(name, compare, event.currentTarget.value)}
      />
    </label>
  )
  const choice = (label: string, name: string, values: readonly string[]) => (
    <label class="field">
      {label}
      <select value={conditionValue(where, name, '=')} onChange={event => set(name, '=', event.currentTarget.value)}>
        <option value="">any</option>
        {values.map(value => (
          <option key={value}>{value}</option>
        ))}
      </select>
    </label>
  )
  return (
    <search class="card stack" aria-label="Filters">
      <div class="row end">
        <label class="field wide">
          text in prompt or response
          <input type="search" {...search} />
        </label>
        <label class="field wide">
          conditions, such as reward&lt;0.5 length&gt;=100 component.format=1
          <input type="search" class="mono" spellcheck={false} {...typed} />
        </label>
      </div>
      <div class="row end">
        {numberField('iteration', 'iteration', '=')}
        {numberField('reward at least', 'reward', '>=')}
        {numberField('reward at most', 'reward', '<=')}
        {numberField('length at least', 'length', '>=')}
        {choice('finish', 'finish', finishes)}
        {choice('dropped', 'dropped', ['yes', 'no', ...(answer?.dropReasons ?? [])])}
        {choice('trained', 'trained', ['yes', 'no'])}
        {choice('flagged', 'flagged', ['yes', 'no'])}
        <button type="button" onClick={() => tune(address, { where: undefined, search: undefined, offset: undefined })}>
          Clear
        </button>
      </div>
    </search>
  )
}

/** A text field whose value is asked for when typing rests. */
function useTyped(value: string, onRest: (value: string) => void) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => onRest(text), 250)
    return () => clearTimeout(timer)
  }, [text])
  return { value: text, onInput: (event: { currentTarget: HTMLInputElement }) => setText(event.currentTarget.value) }
}
