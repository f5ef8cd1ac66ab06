/** Acts on a run that trains: pause, stop, checkpoint, other values; and everything that was done so far. */
import { useState } from 'preact/hooks'
import type { ActRequest, ActsAnswer } from '../../api.js'
import type { ViewProps } from '../app.js'
import { exportPath, post } from '../client.js'
import { clock, counted, number } from '../format.js'
import { changed } from '../happened.js'
import { useAnswer } from '../hooks.js'
import { Loading, Says, useSaid } from '../parts/common.js'
import { report } from '../report-answers.js'

type Attempt = (body: ActRequest) => Promise<void>

export function Act({ run }: ViewProps) {
  const { answer, error, reload } = useAnswer({ route: 'GET /api/runs/:run/acts', parts: { run } }, [
    'acts',
    'run',
    'metrics',
  ])
  const { answer: flags } = useAnswer({ route: 'GET /api/runs/:run/flags', parts: { run } }, ['acts'])
  const [said, attempt] = useSaid()
  if (!answer) return <Loading error={error} />
  const act: Attempt = body =>
    attempt(async () => {
      const { message } = await post('POST /api/runs/:run/acts', { run }, body)
      changed('acts')
      reload()
      return message
    })
  return (
    <>
      {!answer.listening && (
        <p class="card notice">{answer.reason ?? 'No act reaches this run: everything is read only.'}</p>
      )}
      <div class="two">
        <div class="stack">
          <Buttons answer={answer} act={act} />
          {answer.unit === 'iteration' && (
            <section class="card stack" aria-label="Dropped prompts">
              <h2>Dropped prompts</h2>
              {answer.droppedPrompts.length === 0 && <p class="note">None. A sample's own page can drop its prompt.</p>}
              {answer.droppedPrompts.map(promptId => (
                <div key={promptId} class="row">
                  <span class="mono">{promptId}</span>
                  <button
                    type="button"
                    disabled={!answer.listening}
                    onClick={() => act({ act: 'restore-prompt', promptId })}
                  >
                    Use again
                  </button>
                </div>
              ))}
            </section>
          )}
          {!report && answer.unit === 'iteration' && (
            <section class="card stack" aria-label="Flags and pairs">
              <h2>Flags and pairs</h2>
              <p>
                {counted(flags?.flags.length ?? 0, 'flagged sample')}{' '}
                {(flags?.flags.length ?? 0) > 0 && <a href={exportPath(run, 'flags')}>Export as JSONL</a>}
              </p>
              <p>
                {counted(flags?.pairs.length ?? 0, 'preference pair')}{' '}
                {(flags?.pairs.length ?? 0) > 0 && <a href={exportPath(run, 'pairs')}>Export as JSONL</a>}
              </p>
            </section>
          )}
        </div>
        <section class="card stack" aria-label="Values">
          <h2>Values, from the next {answer.unit} on</h2>
          {answer.settings.map(setting => (
            <Setting key={`${setting.option} ${setting.value}`} setting={setting} answer={answer} act={act} />
          ))}
        </section>
      </div>
      <section class="card" aria-label="Acts so far">
        <h2>Acts so far</h2>
        {answer.acts.length === 0 && <p class="note">None. Every act is kept here and in the journal of the run.</p>}
        {[...answer.acts].reverse().map(({ time, text, from }) => (
          <p key={`${time} ${text}`} class="small">
            <span class="dim">
              {clock(time)} · {answer.unit} {from} ·
            </span>{' '}
            {text}
          </p>
        ))}
      </section>
      <Says said={said} />
    </>
  )
}

function Buttons({ answer, act }: { readonly answer: ActsAnswer; readonly act: Attempt }) {
  const { listening, state } = answer
  const isPaused = state === 'paused' || state === 'pausing'
  return (
    <section class="card stack" aria-label="Run">
      <h2>
        Run <span class="badge">{state ?? 'not running'}</span>
      </h2>
      <div class="row">
        <button type="button" disabled={!listening || isPaused} onClick={() => act({ act: 'pause' })}>
          Pause
        </button>
        <button type="button" disabled={!listening || !isPaused} onClick={() => act({ act: 'resume' })}>
          Resume
        </button>
        <button type="button" disabled={!listening} onClick={() => act({ act: 'checkpoint' })}>
          Checkpoint now
        </button>
        <button type="button" disabled={!listening || state === 'stopping'} onClick={() => act({ act: 'stop' })}>
          Stop after this step
        </button>
      </div>
      <p class="dim small">
        A stopped run saves a checkpoint and can be resumed with <code>--resume</code>.
      </p>
    </section>
  )
}

interface SettingProps {
  readonly setting: ActsAnswer['settings'][number]
  readonly answer: ActsAnswer
  readonly act: Attempt
}

function Setting({ setting, answer, act }: SettingProps) {
  const { option, value, help, reason } = setting
  const [text, setText] = useState(value === null ? '' : String(value))
  const isOff = !answer.listening || reason !== null
  const submit = (event: Event) => {
    event.preventDefault()
    void act({ act: 'set', option, value: Number(text) })
  }
  return (
    <form class="stack setting" onSubmit={submit}>
      <div class="row end">
        <label class="field">
          <span class="mono">{option}</span>
          <input
            type="number"
            step="any"
            required
            disabled={isOff}
            value={text}
            onInput={event => setText(event.currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={isOff || text === '' || Number(text) === value}>
          Set {option}
        </button>
        <span class="dim small">now {number(value)}</span>
      </div>
      <p class="dim small">{answer.listening && reason !== null ? reason : help}</p>
    </form>
  )
}
