/** What each iteration spent its time on, and what asynchronous runs and memory look like. */
import { useMemo } from 'preact/hooks'
import type { StagesAnswer } from '../../api.js'
import type { ViewProps } from '../app.js'
import { Chart } from '../charts/chart.js'
import { Stacked } from '../charts/stacked.js'
import { seriesColour } from '../charts/theme.js'
import { bytes, number, percent, seconds } from '../format.js'
import { useAnswer } from '../hooks.js'
import { Loading, Scroll } from '../parts/common.js'

type Iteration = StagesAnswer['iterations'][number]

interface PartProps {
  readonly across: StagesAnswer['across']
  readonly stages: readonly string[]
  readonly iterations: readonly Iteration[]
}

export function Stages({ run }: ViewProps) {
  const { answer, error } = useAnswer({ route: 'GET /api/runs/:run/stages', parts: { run } }, ['metrics'])
  if (!answer) return <Loading error={error} />
  const { across, iterations, slowest } = answer
  // A run without a critic has no bar for it.
  const stages = answer.stages.filter(stage => iterations.some(({ seconds: by }) => (by[stage] ?? 0) > 0))
  if (iterations.length === 0) return <p class="card note">The run has not logged how long its stages took yet.</p>
  const mean = (stage: string): number =>
    iterations.reduce((sum, { seconds: by }) => sum + (by[stage] ?? 0), 0) / iterations.length
  const total = stages.reduce((sum, stage) => sum + mean(stage), 0)
  return (
    <>
      <section class="card stack" aria-label={`Mean of all ${across}s`}>
        <h2>{slowest?.text ?? 'Stages'}</h2>
        <StageBar
          stages={stages}
          by={Object.fromEntries(stages.map(stage => [stage, mean(stage)]))}
          whole={total}
          tall
        />
        <ul class="legend">
          {stages.map((stage, place) => (
            <li key={stage}>
              <span class="swatch" style={{ background: `var(--${seriesColour(place)})` }} />
              {stage} {seconds(mean(stage))} ({percent(total > 0 ? mean(stage) / total : 0)})
            </li>
          ))}
        </ul>
      </section>
      <Timeline across={across} stages={stages} iterations={iterations} />
      <Others across={across} iterations={iterations} />
      <section class="card" aria-label={`Last ${across}s`}>
        <h2>Last {across}s</h2>
        <Last across={across} stages={stages} iterations={iterations.slice(-20).reverse()} />
      </section>
    </>
  )
}

interface BarProps {
  readonly stages: readonly string[]
  readonly by: Readonly<Record<string, number>>
  readonly whole: number
  readonly tall?: true
}

function StageBar({ stages, by, whole, tall }: BarProps) {
  const words = stages.map(stage => `${stage} ${seconds(by[stage] ?? 0)}`).join(', ')
  return (
    <div class={`stage-bar ${tall ? 'tall' : ''}`} role="img" aria-label={words} title={words}>
      {stages.map((stage, place) => (
        <span
          key={stage}
          style={{
            width: `${(100 * (by[stage] ?? 0)) / (whole || 1)}%`,
            background: `var(--${seriesColour(place)})`,
            display: (by[stage] ?? 0) > 0 ? 'block' : 'none',
          }}
        />
      ))}
    </div>
  )
}

function Timeline({ across, stages, iterations }: PartProps) {
  const parts = stages.map((name, place) => ({ name, colour: seriesColour(place) }))
  const columns = useMemo(
    () =>
      iterations.map(({ step, seconds: by }) => ({
        title: `${across} ${step}`,
        values: stages.map(stage => by[stage] ?? 0),
      })),
    [iterations],
  )
  return (
    <section class="card" aria-label="Timeline">
      <h2>Seconds of each {across}</h2>
      <Stacked label="Seconds of each stage" parts={parts} columns={columns} height={240} text={seconds} />
    </section>
  )
}

function Others({ across, iterations }: Omit<PartProps, 'stages'>) {
  const charts: readonly { title: string; of: (one: Iteration) => number | null; text: (value: number) => string }[] = [
    { title: 'Tokens per second', of: one => one.tokensPerSecond, text: number },
    { title: 'Rollouts generated ahead (queue)', of: one => one.queue, text: number },
    { title: 'Staleness of the policy', of: one => one.staleness, text: number },
    { title: 'Memory of the process', of: one => one.memory.rss, text: bytes },
    { title: 'Memory of the device', of: one => one.memory.device, text: bytes },
    { title: 'Peak memory of the device', of: one => one.memory.devicePeak, text: bytes },
  ]
  const known = charts.filter(({ of }) => iterations.some(one => of(one) !== null))
  return (
    <div class="grid">
      {known.map(({ title, of, text }) => (
        <section key={title} class="card plot" aria-label={title}>
          <h3>{title}</h3>
          <Chart
            label={title}
            across={across}
            text={text}
            series={[
              {
                ...{ label: title, colour: 'series-1', steps: iterations.map(({ step }) => step) },
                values: iterations.map(of),
              },
            ]}
          />
        </section>
      ))}
    </div>
  )
}

function Last({ across, stages, iterations }: PartProps) {
  const longest = Math.max(
    ...iterations.map(({ seconds: by }) => stages.reduce((sum, stage) => sum + (by[stage] ?? 0), 0)),
  )
  return (
    <Scroll label={`Table of the last ${across}s`}>
      <table>
        <thead>
          <tr>
            <th class="num">{across}</th>
            <th class="num">seconds</th>
            <th>stages</th>
          </tr>
        </thead>
        <tbody>
          {iterations.map(({ step, seconds: by }) => (
            <tr key={step}>
              <td class="num">{step}</td>
              <td class="num">{seconds(by.total ?? 0)}</td>
              <td class="bar-cell">
                <StageBar stages={stages} by={by} whole={longest} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
