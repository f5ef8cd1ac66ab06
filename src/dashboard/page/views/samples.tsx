/** The samples of a run: a table to filter, search and sort, and the one that is open. */
import { useState } from 'preact/hooks'
import type { SampleColumn, SamplesAnswer } from '../../api.js'
import type { Address } from '../address.js'
import type { ViewProps } from '../app.js'
import { bytes, count } from '../format.js'
import { tune, useAgain, useAnswer } from '../hooks.js'
import { Loading } from '../parts/common.js'
import { Compare } from '../parts/compare.js'
import { Filters } from '../parts/filters.js'
import { Rescore } from '../parts/rescore.js'
import { SampleDetails } from '../parts/sample-details.js'
import { SampleTable } from '../parts/sample-table.js'
import { report } from '../report-answers.js'

const pageSize = 50

export function Samples({ address, run }: ViewProps) {
  const { query } = address
  const [chosen, setChosen] = useState<readonly string[]>([])
  const offset = Number(query.offset ?? 0)
  const { answer, error, stale, reload } = useAnswer(
    {
      route: 'GET /api/runs/:run/samples',
      parts: { run },
      query: {
        ...{ where: query.where ?? '', search: query.search ?? '', offset, limit: pageSize },
        sort: (query.sort ?? 'iteration') as SampleColumn,
        order: query.order === 'ascending' ? 'ascending' : 'descending',
      },
    },
    ['samples'],
  )
  useAgain(answer?.index.state === 'building', reload)
  return (
    <>
      <Filters address={address} answer={answer} />
      {error && <Loading error={error} />}
      {!answer && !error && <Loading error={undefined} />}
      {answer && (
        <section class={`card stack ${stale ? 'fade' : ''}`} aria-label="Samples" aria-busy={stale}>
          <Found answer={answer} address={address} offset={offset} />
          <SampleTable address={address} answer={answer} chosen={chosen} onChosen={setChosen} />
          <Paging address={address} offset={offset} total={answer.total} />
        </section>
      )}
      {chosen.length === 2 && <Compare run={run} ids={[chosen[0]!, chosen[1]!]} onChange={reload} />}
      {query.sample !== undefined && (
        <SampleDetails
          key={query.sample}
          run={run}
          id={query.sample}
          onClose={() => tune(address, { sample: undefined })}
          onChange={reload}
          neighbours={neighbours(answer, query.sample, id => tune(address, { sample: id }))}
        />
      )}
      {!report && <Rescore run={run} where={query.where ?? ''} search={query.search ?? ''} ids={chosen} />}
    </>
  )
}

/** The samples before and after the one that is open, in the order of the table. */
function neighbours(answer: SamplesAnswer | undefined, id: string, open: (id: string) => void) {
  const ids = (answer?.rows ?? []).map(row => row.id)
  const at = ids.indexOf(id)
  const to = (place: number) => {
    const found = at < 0 ? undefined : ids[place]
    return found === undefined ? undefined : () => open(found)
  }
  return { previous: to(at - 1), next: to(at + 1) }
}

function Found({
  answer,
  offset,
}: {
  readonly answer: SamplesAnswer
  readonly address: Address
  readonly offset: number
}) {
  const { total, complete, index, milliseconds, rows } = answer
  return (
    <p class="small dim" role="status">
      {complete ? '' : 'at least '}
      {count(total)} {total === 1 ? 'sample' : 'samples'}
      {total > 0 && `, ${count(offset + 1)} to ${count(offset + rows.length)} shown`}
      {milliseconds > 0 && `, found in ${milliseconds} ms`}
      {index.state === 'building' && '. The index is being built'}
      {index.state === 'building' &&
        index.totalBytes > 0 &&
        `: ${bytes(index.doneBytes)} of ${bytes(index.totalBytes)}, ${count(index.samples)} samples${
          index.samplesPerSecond === null ? '' : `, ${count(Math.round(index.samplesPerSecond))} a second`
        }`}
      {index.state === 'none' && '. The run keeps no journal of samples'}
      {index.problem !== null && `. ${index.problem}`}
      {report && `. The report has ${count(report.rows.length)} of ${count(report.samples)} samples`}
    </p>
  )
}

function Paging({
  address,
  offset,
  total,
}: {
  readonly address: Address
  readonly offset: number
  readonly total: number
}) {
  if (total <= pageSize) return null
  return (
    <nav class="row" aria-label="Pages">
      <button
        type="button"
        disabled={offset === 0}
        onClick={() => tune(address, { offset: String(Math.max(0, offset - pageSize)) })}
      >
        Previous
      </button>
      <span class="dim">
        page {Math.floor(offset / pageSize) + 1} of {count(Math.ceil(total / pageSize))}
      </span>
      <button
        type="button"
        disabled={offset + pageSize >= total}
        onClick={() => tune(address, { offset: String(offset + pageSize) })}
      >
        Next
      </button>
    </nav>
  )
}
