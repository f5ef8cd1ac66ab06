/** The config, what changed since, the versions, and the last events. */
import type { ViewProps } from '../app.js'
import { clock } from '../format.js'
import { useAnswer } from '../hooks.js'
import { CopyButton, Loading, Numbers, Scroll } from '../parts/common.js'

export function Config({ run }: ViewProps) {
  const { answer, error } = useAnswer({ route: 'GET /api/runs/:run', parts: { run } }, ['run', 'acts'])
  if (!answer) return <Loading error={error} />
  const { config, origins, versions, changes, events, checkpoints } = answer
  const options = flattened(config, '')
  return (
    <>
      <div class="two">
        <section class="card" aria-label="Versions">
          <h2>Environment</h2>
          <Numbers
            values={{ ...versions, started: clock(answer.created), checkpoints: checkpoints.join(', ') || 'none' }}
          />
        </section>
        <section class="card" aria-label="Changes">
          <h2>Changed since the start</h2>
          {changes.length === 0 && (
            <p class="note">Nothing. Options that a resume changed stand here; acts are on their own page.</p>
          )}
          {changes.map(({ time, key, from, to, since }) => (
            <p key={`${time} ${key}`} class="small">
              {clock(time)} <code>{key}</code> from {JSON.stringify(from)} to {JSON.stringify(to)}
              {since !== undefined && `, since ${since}`}
            </p>
          ))}
        </section>
      </div>
      <section class="card stack" aria-label="Options">
        <div class="row">
          <h2>Options</h2>
          <CopyButton label="Copy as JSON" text={() => JSON.stringify(config, null, 2)} />
        </div>
        <Scroll label="Table of options">
          <table>
            <thead>
              <tr>
                <th>option</th>
                <th>value</th>
                <th>from</th>
              </tr>
            </thead>
            <tbody>
              {options.map(([key, value]) => (
                <tr key={key}>
                  <td class="mono">{key}</td>
                  <td class="mono text">{value}</td>
                  <td class="dim">{origins[key] ?? 'default'}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </section>
      <section class="card" aria-label="Events">
        <h2>Last events</h2>
        {[...events].reverse().map(({ time, kind, ...rest }) => (
          <p key={`${time} ${kind} ${JSON.stringify(rest)}`} class="small words">
            <span class="dim">{clock(time)}</span> {kind}{' '}
            {Object.keys(rest).length > 0 && <code>{JSON.stringify(rest)}</code>}
          </p>
        ))}
      </section>
    </>
  )
}

/** Dotted keys and their values as text. */
function flattened(value: unknown, prefix: string): [string, string][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [[prefix, JSON.stringify(value) ?? '-']]
  return Object.entries(value).flatMap(([name, one]) => flattened(one, prefix === '' ? name : `${prefix}.${name}`))
}
