/** All runs: how they stand, how well they did, in which options they differ; several can be compared. */
import { useState } from 'preact/hooks'
import type { RunSummary } from '../../api.js'
import { writeAddress } from '../address.js'
import { ago, number, withoutCommonPath } from '../format.js'
import { useAnswer } from '../hooks.js'
import { Loading, Scroll } from '../parts/common.js'

const orders = {
  updated: (a, b) => b.updated - a.updated,
  name: (a, b) => a.name.localeCompare(b.name),
  best: (a, b) => (b.headline?.best ?? -Infinity) - (a.headline?.best ?? -Infinity),
  alerts: (a, b) => b.alerts - a.alerts,
} satisfies Record<string, (a: RunSummary, b: RunSummary) => number>
type Order = keyof typeof orders

/** Options that two of these runs have and do not agree on; what only one kind of run has tells nothing. */
function differing(runs: readonly RunSummary[]): string[] {
  const options = new Set(runs.flatMap(({ differences }) => Object.keys(differences)))
  return [...options].filter(option => {
    const values = runs
      .map(({ differences }) => differences[option])
      .filter(value => value !== undefined && value !== '-')
    return new Set(values).size > 1
  })
}

export function Runs() {
  const { answer, error } = useAnswer({ route: 'GET /api/runs' }, ['runs', 'run'])
  const { answer: session } = useAnswer({ route: 'GET /api/session' })
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [order, setOrder] = useState<Order>('updated')
  const [filter, setFilter] = useState('')
  if (!answer) return <Loading error={error} />
  const { runs, unreadable } = answer
  const words = filter.toLowerCase().split(/\s+/)
  const shown = runs
    .filter(run => words.every(word => `${run.name} ${run.kind} ${run.status}`.toLowerCase().includes(word)))
    .sort(orders[order])
  const options = differing(shown).map(name => {
    const values = shown.map(({ differences }) => differences[name] ?? '-')
    return { name, values, short: withoutCommonPath(values) }
  })
  const toggle = (name: string) =>
    setChosen(chosen.includes(name) ? chosen.filter(one => one !== name) : [...chosen, name])
  const compared = chosen.filter(name => runs.some(run => run.name === name))
  const header = (by: Order, title: string) => (
    <th class={by === 'best' || by === 'alerts' ? 'num' : ''} aria-sort={order === by ? 'descending' : undefined}>
      <button type="button" onClick={() => setOrder(by)}>
        {title}
        {order === by && ' ▾'}
      </button>
    </th>
  )
  if (runs.length === 0 && unreadable.length === 0)
    return (
      <section class="card stack" aria-label="No runs">
        <h2>No runs yet</h2>
        <p>
          A run appears here when it starts in <code>{session?.runsDirectory ?? 'the directory of runs'}</code>, such as
          with
        </p>
        <pre class="mono words">whetstone grpo ... --output {session?.runsDirectory ?? 'runs'}/first</pre>
      </section>
    )
  return (
    <div class="stack">
      <div class="card row end">
        <label class="field wide">
          filter by name, kind or status
          <input value={filter} onInput={event => setFilter(event.currentTarget.value)} />
        </label>
        {compared.length > 1 ? (
          <a href={writeAddress({ runs: compared, page: 'curves', query: {} })}>Compare {compared.length} runs</a>
        ) : (
          <span class="dim">Choose two or more runs to compare their curves.</span>
        )}
      </div>
      <div class="card">
        <Scroll label="Runs">
          <table>
            <thead>
              <tr>
                <th>
                  <span class="dim">compare</span>
                </th>
                {header('name', 'run')}
                <th>status</th>
                <th class="num">step</th>
                <th>metric</th>
                <th class="num">last</th>
                {header('best', 'best')}
                {header('alerts', 'alerts')}
                {header('updated', 'changed')}
                {options.map(({ name }) => (
                  <th key={name}>{name}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map((run, place) => (
                <tr key={run.name} class={chosen.includes(run.name) ? 'chosen' : ''}>
                  <td>
                    <input
                      type="checkbox"
                      aria-label={`compare ${run.name}`}
                      checked={chosen.includes(run.name)}
                      onChange={() => toggle(run.name)}
                    />
                  </td>
                  <td>
                    <a href={writeAddress({ runs: [run.name], page: 'curves', query: {} })}>{run.name}</a>
                    <div class="dim small">{run.kind}</div>
                  </td>
                  <td>
                    <span class={`badge ${run.status}`}>{run.status}</span>
                    {run.resumable && <div class="dim small">can be resumed</div>}
                    {run.listening && <div class="dim small">takes acts</div>}
                  </td>
                  <td class="num">
                    {run.step}
                    {run.steps !== null && <span class="dim"> of {run.steps}</span>}
                  </td>
                  <td class="small">{run.headline?.metric ?? '-'}</td>
                  <td class="num">{number(run.headline?.last)}</td>
                  <td class="num">{number(run.headline?.best)}</td>
                  <td class="num">
                    {run.alerts > 0 ? (
                      <a href={writeAddress({ runs: [run.name], page: 'alerts', query: {} })}>
                        {run.alerts} {run.alerts === 1 ? 'alert' : 'alerts'}
                      </a>
                    ) : (
                      <span class="dim">none</span>
                    )}
                  </td>
                  <td class="small">{ago(run.updated, Date.now())}</td>
                  {options.map(({ name, values, short }) => (
                    <td key={name} class="mono small option" title={values[place]}>
                      {short[place]}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
        {runs.length > 0 && shown.length === 0 && <p class="note">No run matches the filter.</p>}
      </div>
      {unreadable.map(({ name, error: why }) => (
        <p key={name} class="card error">
          {name}: {why}
        </p>
      ))}
    </div>
  )
}
