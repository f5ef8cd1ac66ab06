/** Rewards and lengths over time, groups that teach nothing, and samples that were dropped. */
import type { DistributionsAnswer } from '../../api.js'
import type { ViewProps } from '../app.js'
import { Chart, type Series } from '../charts/chart.js'
import { HeatMap } from '../charts/heat-map.js'
import { Legend } from '../charts/legend.js'
import { Stacked } from '../charts/stacked.js'
import { type ColourName, seriesColour } from '../charts/theme.js'
import { percent } from '../format.js'
import { useAgain, useAnswer } from '../hooks.js'
import { Loading } from '../parts/common.js'

export function Distributions({ run }: ViewProps) {
  const { answer, error, reload } = useAnswer({ route: 'GET /api/runs/:run/distributions', parts: { run } }, [
    'samples',
  ])
  const { answer: detail, reload: lookAgain } = useAnswer({ route: 'GET /api/runs/:run', parts: { run } })
  const isBuilding = detail?.index.state === 'building'
  useAgain(isBuilding, () => {
    reload()
    lookAgain()
  })
  if (!answer) return <Loading error={error} />
  const { rewards, lengths, groups, drops } = answer
  if (rewards.columns.length === 0 && lengths.columns.length === 0)
    return (
      <p class="card note">
        {isBuilding
          ? 'The index of the samples is being built.'
          : 'The run has no samples, so there is nothing to show here.'}
      </p>
    )
  const share = (label: string, colour: ColourName, of: (one: (typeof groups)[number]) => number): Series => ({
    ...{ label, colour, steps: groups.map(({ to }) => to), values: groups.map(of) },
  })
  const reasons = [...new Set(drops.flatMap(({ reasons: by }) => Object.keys(by)))]
  return (
    <div class="two">
      <section class="card plot" aria-label="Rewards">
        <h2>Rewards</h2>
        <HeatMap label="Rewards by iteration" data={rewards} />
      </section>
      <section class="card plot" aria-label="Lengths">
        <h2>Lengths in tokens</h2>
        <HeatMap label="Lengths by iteration" data={lengths} />
      </section>
      <section class="card plot" aria-label="Groups">
        <h2>Groups that are all equal, and all right</h2>
        <p class="dim small">
          A group whose samples have equal rewards teaches nothing to an algorithm that compares them.
        </p>
        <Chart
          label="Shares of groups"
          across="iteration"
          text={percent}
          series={[
            share('all rewards equal', 'series-2', one => one.zeroVariance),
            share('all right', 'series-3', one => one.allRight),
          ]}
        />
        <Legend
          items={[
            { name: 'all rewards equal', colour: 'series-2' },
            { name: 'all right', colour: 'series-3' },
          ]}
        />
      </section>
      <section class="card" aria-label="Drops">
        <h2>Dropped samples by reason</h2>
        {reasons.length === 0 ? <p class="note">No sample was dropped.</p> : <Drops drops={drops} reasons={reasons} />}
      </section>
    </div>
  )
}

interface DropsProps {
  readonly drops: DistributionsAnswer['drops']
  readonly reasons: readonly string[]
}

function Drops({ drops, reasons }: DropsProps) {
  const parts = reasons.map((name, place) => ({ name, colour: seriesColour(place) }))
  const columns = drops.map(({ from, to, reasons: by }) => ({
    title: from === to ? `iteration ${to}` : `iterations ${from} to ${to}`,
    values: reasons.map(reason => by[reason] ?? 0),
  }))
  return (
    <>
      <Stacked label="Dropped samples" parts={parts} columns={columns} />
      <Legend items={parts} />
    </>
  )
}
