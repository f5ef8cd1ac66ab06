/** Samples as rows; a click on the head of a column sorts by it. */
import type { SampleColumn, SampleRow, SamplesAnswer } from '../../api.js'
import { question } from '../../question.js'
import { type Address, writeAddress } from '../address.js'
import { brief, number } from '../format.js'
import { tune } from '../hooks.js'
import { Scroll } from './common.js'

interface TableProps {
  readonly address: Address
  readonly answer: SamplesAnswer
  readonly chosen: readonly string[]
  readonly onChosen: (ids: readonly string[]) => void
}

/** A reward of one component is the component. */
const isWhole = (rows: readonly SampleRow[], name: string): boolean =>
  rows.every(({ reward, components }) => components[name] === undefined || components[name] === reward)

interface Column {
  readonly title: string
  readonly sort: SampleColumn
  readonly of: (row: SampleRow) => number | null | undefined
}

const columns: readonly Column[] = [
  { title: 'iteration', sort: 'iteration', of: row => row.iteration },
  { title: 'reward', sort: 'reward', of: row => row.reward },
  { title: 'length', sort: 'length', of: row => row.length },
  { title: 'KL', sort: 'kl', of: row => row.kl },
  { title: 'entropy', sort: 'entropy', of: row => row.entropy },
  { title: 'gap', sort: 'gap', of: row => row.gap },
]

export function SampleTable({ address, answer, chosen, onChosen }: TableProps) {
  const { sort = 'iteration', order = 'descending', sample } = address.query
  const shown = [
    ...columns,
    ...answer.components
      .filter(name => !isWhole(answer.rows, name))
      .map(
        (name): Column => ({
          ...{ title: name, sort: `component.${name}`, of: row => row.components[name] },
        }),
      ),
  ].filter(
    column =>
      column.sort === 'reward' || answer.rows.some(row => column.of(row) !== null && column.of(row) !== undefined),
  )
  const sortBy = (column: SampleColumn) =>
    tune(address, {
      sort: column,
      order: sort === column && order === 'descending' ? 'ascending' : 'descending',
      offset: undefined,
    })
  const toggle = (id: string) => onChosen(chosen.includes(id) ? chosen.filter(one => one !== id) : [...chosen, id])
  return (
    <Scroll label="Table of samples">
      <table>
        <thead>
          <tr>
            <th>
              <span class="dim">choose</span>
            </th>
            <th>prompt</th>
            <th>response</th>
            {shown.map(({ title, sort: by }) => (
              <th key={by} class="num" aria-sort={sort === by ? (order as 'descending') : undefined}>
                <button type="button" onClick={() => sortBy(by)}>
                  {title}
                  {sort === by && (order === 'descending' ? ' ▾' : ' ▴')}
                </button>
              </th>
            ))}
            <th>finish</th>
            <th>dropped</th>
            <th>flag</th>
          </tr>
        </thead>
        <tbody>
          {answer.rows.map(row => (
            <tr key={row.id} class={row.id === sample ? 'chosen' : ''}>
              <td>
                <input
                  type="checkbox"
                  aria-label={`choose sample ${row.id}`}
                  checked={chosen.includes(row.id)}
                  onChange={() => toggle(row.id)}
                />
              </td>
              <td class="text">
                <a href={writeAddress({ ...address, query: { ...address.query, sample: row.id } })}>
                  <span class="clamp">{brief(question(row.prompt), 160) || '(empty)'}</span>
                </a>
              </td>
              <td class="text">
                <span class="clamp">{brief(row.response, 200) || '(empty)'}</span>
              </td>
              {shown.map(({ sort: by, of }) => (
                <td key={by} class="num">
                  {number(of(row))}
                </td>
              ))}
              <td>{row.finish}</td>
              <td>{row.dropped ?? ''}</td>
              <td>{row.flag && <span class={`badge ${row.flag.label}`}>{row.flag.label}</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
