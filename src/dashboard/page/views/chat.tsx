/** A chat with two models at once: the live policy or a checkpoint, beside the model that the run started from. */
import { useRef, useState } from 'preact/hooks'
import type { ChatModel, ChatRequest } from '../../api.js'
import type { ViewProps } from '../app.js'
import { chat } from '../client.js'
import { useAnswer } from '../hooks.js'
import { Loading, Words } from '../parts/common.js'

type Message = ChatRequest['messages'][number]

interface Talk {
  readonly messages: readonly Message[]
  readonly error?: string
  readonly isBusy?: boolean
}

const start: Talk = { messages: [] }

export function Chat({ run }: ViewProps) {
  const { answer, error } = useAnswer({ route: 'GET /api/runs/:run/chat', parts: { run } }, ['run', 'acts'])
  const [names, setNames] = useState<readonly [string?, string?]>([])
  const [talks, setTalks] = useState<readonly [Talk, Talk]>([start, start])
  const [temperature, setTemperature] = useState(0.7)
  const [length, setLength] = useState(128)
  const [text, setText] = useState('')
  const abort = useRef<AbortController | undefined>(undefined)
  if (!answer) return <Loading error={error} />
  const usable = answer.models.filter(({ reason }) => reason === null)
  if (answer.models.length === 0) return <p class="card note">The run has no model that writes texts.</p>
  const chosen = [names[0] ?? usable[0]?.name ?? '', names[1] ?? usable.at(-1)?.name ?? ''] as const
  const isBusy = talks.some(talk => talk.isBusy)
  const put = (side: 0 | 1, talk: Talk) =>
    setTalks(before => (side === 0 ? [talk, before[1]] : [before[0], talk]) as readonly [Talk, Talk])
  const speak = async (side: 0 | 1, signal: AbortSignal): Promise<void> => {
    const messages: Message[] = [...talks[side].messages, { role: 'user', content: text }]
    let content = ''
    const said = () => [...messages, { role: 'assistant', content } satisfies Message]
    put(side, { messages: said(), isBusy: true })
    try {
      const asked = { model: chosen[side], messages, temperature, maxNewTokens: length }
      for await (const line of chat(run, asked, signal)) {
        if ('error' in line) throw new Error(line.error)
        if ('text' in line) content += line.text
        put(side, { messages: said(), isBusy: true })
      }
      put(side, { messages: said() })
    } catch (cause) {
      const message = signal.aborted ? 'Stopped.' : cause instanceof Error ? cause.message : String(cause)
      put(side, { messages: said(), error: message })
    }
  }
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (text.trim() === '' || isBusy) return
    abort.current = new AbortController()
    const { signal } = abort.current
    setText('')
    await Promise.all([speak(0, signal), speak(1, signal)])
  }
  const side = (place: 0 | 1) => (
    <section class="card stack" aria-label={place === 0 ? 'Left model' : 'Right model'}>
      <Choice
        label={place === 0 ? 'left model' : 'right model'}
        models={answer.models}
        value={chosen[place]}
        onChange={name => {
          setNames(place === 0 ? [name, chosen[1]] : [chosen[0], name])
          put(place, start)
        }}
      />
      <div class="stack" aria-live="polite">
        {talks[place].messages.map(({ role, content }, at) => (
          <div key={at} class={`turn ${role}`}>
            <div class="dim small">{role}</div>
            <Words text={content} />
          </div>
        ))}
      </div>
      {talks[place].error && <p class="error">{talks[place].error}</p>}
    </section>
  )
  return (
    <>
      <div class="two">
        {side(0)}
        {side(1)}
      </div>
      <form class="card row end" onSubmit={send}>
        <label class="field wide">
          message to both
          <textarea rows={2} value={text} onInput={event => setText(event.currentTarget.value)} onKeyDown={onEnter} />
        </label>
        <label class="field">
          temperature
          <input
            type="number"
            min="0"
            max="5"
            step="0.1"
            value={temperature}
            onInput={event => setTemperature(Number(event.currentTarget.value))}
          />
        </label>
        <label class="field">
          most tokens
          <input
            type="number"
            min="1"
            max="4096"
            value={length}
            onInput={event => setLength(Number(event.currentTarget.value))}
          />
        </label>
        <button type="submit" class="main" disabled={isBusy || text.trim() === ''}>
          Send
        </button>
        <button type="button" disabled={!isBusy} onClick={() => abort.current?.abort()}>
          Stop
        </button>
        <button type="button" disabled={isBusy} onClick={() => setTalks([start, start])}>
          Start again
        </button>
      </form>
    </>
  )
}

/** Enter sends, Shift and Enter make a new line. */
function onEnter(event: KeyboardEvent): void {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  ;(event.currentTarget as HTMLTextAreaElement).form?.requestSubmit()
}

interface ChoiceProps {
  readonly label: string
  readonly models: readonly ChatModel[]
  readonly value: string
  readonly onChange: (name: string) => void
}

function Choice({ label, models, value, onChange }: ChoiceProps) {
  return (
    <label class="field">
      {label}
      <select value={value} onChange={event => onChange(event.currentTarget.value)}>
        {models.map(({ name, text, reason }) => (
          <option key={name} value={name} disabled={reason !== null}>
            {reason === null ? text : `${text} (${reason})`}
          </option>
        ))}
      </select>
    </label>
  )
}
