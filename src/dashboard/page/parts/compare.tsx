/** Two samples side by side: a person says which is the better one, and the pairs become preference data. */
import type { SampleDetail } from '../../api.js'
import { exportPath, post } from '../client.js'
import { counted, number } from '../format.js'
import { useAnswer } from '../hooks.js'
import { report } from '../report-answers.js'
import { Loading, Says, useSaid, Words } from './common.js'

interface CompareProps {
  readonly run: string
  readonly ids: readonly [string, string]
  readonly onChange?: () => void
}

export function Compare({ run, ids: [first, second], onChange }: CompareProps) {
  const route = 'GET /api/runs/:run/samples/:sample'
  const left = useAnswer({ route, parts: { run, sample: first } })
  const right = useAnswer({ route, parts: { run, sample: second } })
  const { answer: flags, reload } = useAnswer({ route: 'GET /api/runs/:run/flags', parts: { run } })
  const [said, attempt] = useSaid()
  const pair = flags?.pairs.find(
    ({ chosen, rejected }) => [first, second].includes(chosen) && [first, second].includes(rejected),
  )
  const prefer = (better: 'first' | 'second' | null) =>
    attempt(async () => {
      const answer = await post('POST /api/runs/:run/pairs', { run }, { first, second, better })
      reload()
      onChange?.()
      return better === null
        ? 'The choice is taken back.'
        : `Kept. The run has ${counted(answer.pairs.length, 'pair')} now.`
    })
  const sides: readonly { id: string; name: 'first' | 'second'; answered: typeof left }[] = [
    { id: first, name: 'first', answered: left },
    { id: second, name: 'second', answered: right },
  ]
  const isOnePrompt = left.answer?.promptId === right.answer?.promptId
  return (
    <section class="card stack" aria-label="Two samples side by side">
      <div class="row">
        <h2>Which is better?</h2>
        {pair && !report && (
          <button type="button" onClick={() => prefer(null)}>
            Take the choice back
          </button>
        )}
        {(flags?.pairs.length ?? 0) > 0 && (
          <a href={exportPath(run, 'pairs')}>Export {counted(flags!.pairs.length, 'pair')} as JSONL</a>
        )}
      </div>
      {left.answer && isOnePrompt && <Words text={left.answer.prompt} limited="limited" />}
      {!isOnePrompt && (
        <p class="note">These are samples of two prompts; a preference needs two answers to one prompt.</p>
      )}
      <div class="two">
        {sides.map(({ id, name, answered }) => (
          <div key={id} class="sample">
            {!answered.answer && <Loading error={answered.error} />}
            {answered.answer && <Side detail={answered.answer} prompt={isOnePrompt ? 'hidden' : 'shown'} />}
            {!report && (
              <button
                type="button"
                disabled={!isOnePrompt}
                aria-pressed={pair?.chosen === id}
                onClick={() => prefer(name)}
              >
                {pair?.chosen === id ? 'Chosen as better' : 'This one is better'}
              </button>
            )}
          </div>
        ))}
      </div>
      <Says said={said} />
    </section>
  )
}

function Side({ detail, prompt }: { readonly detail: SampleDetail; readonly prompt: 'shown' | 'hidden' }) {
  return (
    <>
      <div class="row small">
        <span class="badge">reward {number(detail.reward)}</span>
        <span class="dim">
          {detail.length} tokens, {detail.finish}
        </span>
      </div>
      {prompt === 'shown' && <Words text={detail.prompt} limited="limited" />}
      <Words text={detail.response} limited="limited" />
    </>
  )
}
