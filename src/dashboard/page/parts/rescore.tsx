/** Scores samples again with another reward file, to see the difference before it is used. */
import { useState } from 'preact/hooks'
import type { RescoreAnswer } from '../../api.js'
import { question } from '../../question.js'
import { post } from '../client.js'
import { brief, count, number } from '../format.js'
import { useAnswer } from '../hooks.js'
import { Says, Scroll, useSaid } from './common.js'

interface RescoreProps {
  readonly run: string
  readonly where: string
  readonly search: string
  /** Those that are chosen in the table; where there are none, all that the filters leave. */
  readonly ids: readonly string[]
}

export function Rescore({ run, where, search, ids }: RescoreProps) {
  const { answer: acts } = useAnswer({ route: 'GET /api/runs/:run/acts', parts: { run } }, ['acts', 'run'])
  const [rewards, setRewards] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [found, setFound] = useState<RescoreAnswer>()
  const [said, attempt] = useSaid()
  const files = acts?.rewards ?? []
  const chosen = rewards ?? files[0] ?? ''
  const score = async (): Promise<void> => {
    setBusy(true)
    await attempt(async () => {
      const which = ids.length > 0 ? { ids } : { where, search }
      const answer = await post('POST /api/runs/:run/rescore', { run }, { rewards: chosen, ...which, limit: 200 })
      setFound(answer)
      return `${count(answer.samples.length)} samples scored again.`
    })
    setBusy(false)
  }
  return (
    <section class="card stack" aria-label="Score again">
      <h2>Score again with another reward</h2>
      {files.length === 0 ? (
        <p class="note">
          Name reward files when you start the dashboard (`--rewards FILE`), or in the config of the run. The page
          itself cannot bring code.
        </p>
      ) : (
        <div class="row end">
          <label class="field">
            reward file
            <select value={chosen} onChange={event => setRewards(event.currentTarget.value)}>
              {files.map(file => (
                <option key={file}>{file}</option>
              ))}
            </select>
          </label>
          <button type="button" class="main" disabled={isBusy} onClick={score}>
            {isBusy
              ? 'Scoring'
              : ids.length > 0
                ? `Score the ${ids.length} chosen`
                : 'Score those of the filter (at most 200)'}
          </button>
        </div>
      )}
      {found && <Difference found={found} />}
      <Says said={said} />
    </section>
  )
}

function Difference({ found }: { readonly found: RescoreAnswer }) {
  const { mean, changed, otherBest, samples, matched, note } = found
  return (
    <>
      <p>
        Mean reward {number(mean.before)} before, {number(mean.after)} with {found.rewards}. {count(changed)} of{' '}
        {count(samples.length)} samples have another reward; in {count(otherBest)} groups another sample is the best.
        {matched > samples.length &&
          ` ${count(matched)} samples match; the first ${count(samples.length)} were scored.`}
      </p>
      {note !== null && <p class="dim small">{note}</p>}
      <Scroll label="Rewards before and after">
        <table>
          <thead>
            <tr>
              <th>prompt</th>
              <th>response</th>
              <th class="num">before</th>
              <th class="num">after</th>
              <th>failure</th>
            </tr>
          </thead>
          <tbody>
            {samples.map(({ id, prompt, response, before, after, failure }) => (
              <tr key={id} class={before === after ? '' : 'chosen'}>
                <td class="text">{brief(question(prompt), 100)}</td>
                <td class="text">{brief(response, 160)}</td>
                <td class="num">{number(before)}</td>
                <td class="num">{number(after)}</td>
                <td class="error">{failure ?? ''}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  )
}
