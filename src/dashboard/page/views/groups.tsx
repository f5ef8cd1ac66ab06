/** The samples of each prompt side by side, best first. */
import { useState } from 'preact/hooks'
import type { GroupsAnswer, GroupsQuery, SampleRow } from '../../api.js'
import { question } from '../../question.js'
import { type Address, writeAddress } from '../address.js'
import type { ViewProps } from '../app.js'
import { count, number } from '../format.js'
import { tune, useAgain, useAnswer } from '../hooks.js'
import { Loading, Words } from '../parts/common.js'
import { Compare } from '../parts/compare.js'

const sorts: Readonly<Record<NonNullable<GroupsQuery['sort']>, string>> = {
  ...{ spread: 'rewards differ most', best: 'best first', worst: 'worst first', order: 'order of the run' },
}
const pageSize = 20

export function Groups({ address, run }: ViewProps) {
  const { query } = address
  const offset = Number(query.offset ?? 0)
  const asked: GroupsQuery = {
    ...(query.iteration === undefined ? {} : { iteration: Number(query.iteration) }),
    ...{ sort: (query.sort ?? 'spread') as NonNullable<GroupsQuery['sort']>, offset, limit: pageSize },
  }
  const { answer, error, reload } = useAnswer({ route: 'GET /api/runs/:run/groups', parts: { run }, query: asked }, [
    'samples',
  ])
  const [chosen, setChosen] = useState<readonly string[]>([])
  const { answer: detail, reload: lookAgain } = useAnswer({ route: 'GET /api/runs/:run', parts: { run } })
  const isBuilding = detail?.index.state === 'building'
  useAgain(isBuilding, () => {
    reload()
    lookAgain()
  })
  if (!answer) return <Loading error={error} />
  // The last two that were chosen are compared.
  const toggle = (id: string) =>
    setChosen(chosen.includes(id) ? chosen.filter(one => one !== id) : [...chosen, id].slice(-2))
  return (
    <>
      <Choice address={address} answer={answer} sort={asked.sort!} />
      {error && <Loading error={error} />}
      {answer.groups.length === 0 && (
        <p class="card note">
          {isBuilding ? 'The index of the samples is being built.' : 'There are no samples of this iteration.'}
        </p>
      )}
      {answer.groups.map(group => (
        <section key={group.promptId} class="card stack" aria-label={`Prompt ${group.promptId}`}>
          <div class="row small">
            <span class="badge">mean reward {number(group.mean)}</span>
            <span class="badge">spread {number(group.spread)}</span>
            <span class="dim mono">{group.promptId}</span>
          </div>
          <Words text={question(group.prompt)} limited="limited" />
          <section class="columns" tabIndex={0} aria-label={`Samples of ${group.promptId}, best first`}>
            {group.samples.map((row, place) => (
              <Sample
                key={row.id}
                row={row}
                address={address}
                rank={rankOf(group, place)}
                isChosen={chosen.includes(row.id)}
                onChoose={() => toggle(row.id)}
              />
            ))}
          </section>
          {chosen.length === 2 && chosen.every(id => group.samples.some(row => row.id === id)) && (
            <Compare run={run} ids={[chosen[0]!, chosen[1]!]} />
          )}
        </section>
      ))}
      {answer.total > pageSize && (
        <nav class="row" aria-label="Pages">
          <button
            type="button"
            disabled={offset === 0}
            onClick={() => tune(address, { offset: String(offset - pageSize) })}
          >
            Previous
          </button>
          <button
            type="button"
            disabled={offset + pageSize >= answer.total}
            onClick={() => tune(address, { offset: String(offset + pageSize) })}
          >
            Next
          </button>
        </nav>
      )}
    </>
  )
}

/** Only of samples that have rewards: others come after them. */
function rankOf({ samples }: GroupsAnswer['groups'][number], place: number): 'best' | 'worst' | '' {
  const scored = samples.filter(({ reward }) => reward !== null).length
  if (scored < 2) return ''
  return place === 0 ? 'best' : place === scored - 1 ? 'worst' : ''
}

interface ChoiceProps {
  readonly address: Address
  readonly answer: GroupsAnswer
  readonly sort: NonNullable<GroupsQuery['sort']>
}

function Choice({ address, answer, sort }: ChoiceProps) {
  const { iteration, iterations, total } = answer
  const go = (to: number) => tune(address, { iteration: String(to), offset: undefined })
  return (
    <div class="card row end">
      <label class="field">
        iteration ({iterations.first} to {iterations.last})
        <input
          type="number"
          min={iterations.first}
          max={iterations.last}
          value={iteration}
          onChange={event => go(Number(event.currentTarget.value))}
        />
      </label>
      <button type="button" disabled={iteration <= iterations.first} onClick={() => go(iteration - 1)}>
        Before
      </button>
      <button type="button" disabled={iteration >= iterations.last} onClick={() => go(iteration + 1)}>
        After
      </button>
      <button type="button" onClick={() => tune(address, { iteration: undefined, offset: undefined })}>
        Follow the last
      </button>
      <label class="field">
        order
        <select value={sort} onChange={event => tune(address, { sort: event.currentTarget.value, offset: undefined })}>
          {Object.entries(sorts).map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <span class="dim small">
        {count(total)} {total === 1 ? 'prompt' : 'prompts'}. Choose two samples of one to compare them.
      </span>
    </div>
  )
}

interface SampleProps {
  readonly row: SampleRow
  readonly address: Address
  readonly rank: 'best' | 'worst' | ''
  readonly isChosen: boolean
  readonly onChoose: () => void
}

function Sample({ row, address, rank, isChosen, onChoose }: SampleProps) {
  return (
    <div class="sample">
      <div class="row small">
        <span class={`badge ${rank === 'best' ? 'good' : rank === 'worst' ? 'bad' : ''}`}>
          {rank} {number(row.reward)}
        </span>
        <span class="dim">
          {row.length} tokens, {row.finish}
        </span>
        {row.dropped !== null && <span class="badge warn">{row.dropped}</span>}
        {row.flag && <span class={`badge ${row.flag.label}`}>{row.flag.label}</span>}
      </div>
      <Words text={row.response} limited="limited" />
      <div class="row small">
        <label>
          <input type="checkbox" checked={isChosen} onChange={onChoose} /> compare
        </label>
        <a
          href={writeAddress({
            ...address,
            page: 'samples',
            query: { where: `iteration=${row.iteration}`, sample: row.id },
          })}
        >
          open
        </a>
      </div>
    </div>
  )
}
