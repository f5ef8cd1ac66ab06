/** Rewards and lengths over time, groups that teach nothing, and samples that were dropped. */
import type { DistributionsAnswer } from '../../api.js'
import type { ViewProps } from '../app.js'
import { Chart, type Series } from '../charts/chart.js'
import { HeatMap } from '../charts/heat-map.js'
import { type ColourName, seriesColour } from '../charts/theme.js'
import { percent } from '../format.js'
import { useAnswer } from '../hooks.js'
import { Loading } from '../parts/common.js'

export function Distributions({ run }: ViewProps) {
  const { answer, error } = useAnswer({ route: 'GET /api/runs/:run/distributions', parts: { run } }, ['samples'])
  if (!answer) return <Loading error={error} />
  const { rewards, lengths, groups, drops } = answer
  if (rewards.columns.length === 0 && lengths.columns.length === 0)
    return <p class="card note">The run has no samples, so there is nothing to show here.</p>
  const share = (label: string, colour: ColourName, of: (one: (typeof groups)[number]) => number): Series => ({
    ...{ label, colour, steps: groups.map(({ to }) => to), values: groups.map(of) },
  })
  const reasons = [...new Set(drops.flatMap(({ reasons: by }) => Object.keys(by)))]
  return (
    <div class="two">
      <section class="card" aria-label="Rewards">
        <h2>Rewards</h2>
        <HeatMap label="Rewards by iteration" data={rewards} />
      </section>
      <section class="card" aria-label="Lengths">
        <h2>Lengths in tokens</h2>
        <HeatMap label="Lengths by iteration" data={lengths} />
      </section>
      <section class="card" aria-label="Groups">
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
        <Legend names={['all rewards equal', 'all right']} colours={['series-2', 'series-3']} />
      </section>
      <section class="card" aria-label="Drops">
        <h2>Dropped samples by reason</h2>
        {reasons.length === 0 ? <p class="note">No sample was dropped.</p> : <Drops drops={drops} reasons={reasons} />}
      </section>
    </div>
  )
}

function Drops({
  drops,
  reasons,
}: {
  readonly drops: DistributionsAnswer['drops']
  readonly reasons: readonly string[]
}) {
  const series = reasons.map(
    (label, place): Series => ({
      ...{ label, colour: seriesColour(place), steps: drops.map(({ to }) => to) },
      values: drops.map(({ reasons: by }) => by[label] ?? 0),
    }),
  )
  return (
    <>
      <Chart label="Dropped samples" across="iteration" series={series} />
      <Legend names={reasons} colours={reasons.map((_, place) => seriesColour(place))} />
    </>
  )
}

function Legend({ names, colours }: { readonly names: readonly string[]; readonly colours: readonly ColourName[] }) {
  return (
    <ul class="legend">
      {names.map((name, place) => (
        <li key={name}>
          <span class="swatch" style={{ background: `var(--${colours[place]})` }} />
          {name}
        </li>
      ))}
    </ul>
  )
}
