/** Flags a sample, and drops it or its prompt from what the run will train on. */
import { useState } from 'preact/hooks'
import type { ActRequest, Flag, SampleDetail } from '../../api.js'
import { post } from '../client.js'
import { changed } from '../happened.js'
import { useAnswer } from '../hooks.js'
import { Says, useSaid } from './common.js'

interface ActsProps {
  readonly run: string
  readonly detail: SampleDetail
  readonly onChange: () => void
}

const labels: readonly Flag['label'][] = ['good', 'bad', 'look']

export function SampleActs({ run, detail, onChange }: ActsProps) {
  const { id, flag, promptId, sample, iteration } = detail
  const [note, setNote] = useState(flag?.note ?? '')
  const [said, attempt] = useSaid()
  const { answer: acts } = useAnswer({ route: 'GET /api/runs/:run/acts', parts: { run } }, ['acts', 'run'])
  const setFlag = (label: Flag['label'] | null) =>
    attempt(async () => {
      await post('POST /api/runs/:run/flags', { run }, { id, label, ...(label === null ? {} : { note }) })
      onChange()
      return label === null ? 'The flag is gone.' : `Flagged as ${label}.`
    })
  const act = (body: ActRequest) =>
    attempt(async () => {
      const { message } = await post('POST /api/runs/:run/acts', { run }, body)
      changed('acts')
      onChange()
      return message
    })
  const isOut = acts?.droppedPrompts.includes(detail.row) ?? false
  return (
    <div class="row end">
      <label class="field">
        note
        <input value={note} onInput={event => setNote(event.currentTarget.value)} />
      </label>
      {labels.map(label => (
        <button
          key={label}
          type="button"
          aria-pressed={flag?.label === label}
          onClick={() => setFlag(flag?.label === label ? null : label)}
        >
          Flag as {label}
        </button>
      ))}
      <button
        type="button"
        disabled={!acts?.listening}
        title={acts?.reason ?? undefined}
        onClick={() => act({ act: 'drop-sample', promptId, sample, iteration })}
      >
        Drop this sample
      </button>
      <button
        type="button"
        disabled={!acts?.listening}
        title={acts?.reason ?? undefined}
        onClick={() => act({ act: isOut ? 'restore-prompt' : 'drop-prompt', promptId })}
      >
        {isOut ? 'Use this prompt again' : 'Drop this prompt'}
      </button>
      <Says said={said} />
    </div>
  )
}
