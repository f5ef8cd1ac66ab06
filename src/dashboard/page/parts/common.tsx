/** Small things that many views show. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { RunSummary } from '../../api.js'
import { number } from '../format.js'

export function Failure({ message }: { readonly message: string }) {
  return (
    <p class="card error" role="alert">
      {message}
    </p>
  )
}

/** An answer, or why there is none yet. */
export function Loading({ error }: { readonly error: string | undefined }) {
  return error === undefined ? <p class="note">Loading</p> : <Failure message={error} />
}

export function RunBadge({ run }: { readonly run: RunSummary }) {
  const { status, step, steps, resumable, listening } = run
  return (
    <>
      <span class={`badge ${status}`}>{resumable ? `${status}, can be resumed` : status}</span>
      <span class="dim small state">
        {run.kind} · step {step}
        {steps !== null && ` of ${steps}`}
        {listening && ' · takes acts'}
      </span>
    </>
  )
}

/** A part that scrolls sideways: reachable by keyboard, and named. */
export function Scroll({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    <section class="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}

/** Rewards by component, and other named numbers. */
export function Numbers({ values }: { readonly values: Readonly<Record<string, number | null | string>> }) {
  return (
    <dl class="pairs small">
      {Object.entries(values).flatMap(([name, value]) => [
        <dt key={name}>{name}</dt>,
        <dd key={`${name} value`}>{typeof value === 'string' ? value : number(value)}</dd>,
      ])}
    </dl>
  )
}

/** A text of a model or of a data set: text, whatever it contains. */
export function Words({ text, limited }: { readonly text: string; readonly limited?: 'limited' }) {
  if (text === '') return <p class="dim">(empty)</p>
  if (!limited) return <div class="words">{text}</div>
  return (
    <section class="words limited" tabIndex={0}>
      {text}
    </section>
  )
}

export function CopyButton({ label, text }: { readonly label: string; readonly text: () => string }) {
  const [said, setSaid] = useState(label)
  const copy = async (): Promise<void> => {
    const isCopied = await copied(text())
    setSaid(isCopied ? 'Copied' : 'The browser does not allow it')
    setTimeout(() => setSaid(label), 2000)
  }
  return (
    <button type="button" onClick={copy}>
      {said}
    </button>
  )
}

/** Browsers give the clipboard to pages of this machine and of TLS; at another address there is the older way, through a selection. */
async function copied(text: string): Promise<boolean> {
  // Undefined at such an address, whatever its type says.
  const clipboard = navigator.clipboard as Clipboard | undefined
  if (clipboard)
    return await clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  try {
    return document.execCommand('copy')
  } finally {
    area.remove()
  }
}

/** What an act answered, or why it was refused. */
export interface Said {
  readonly text: string
  readonly kind: 'done' | 'refused'
}

export function Says({ said }: { readonly said: Said | undefined }) {
  return (
    <p class={`says ${said ? 'card' : ''} ${said?.kind === 'refused' ? 'error' : 'good'}`} role="status">
      {said?.text}
    </p>
  )
}

/** Runs something that the server may refuse, and says what came of it. */
export function useSaid(): [Said | undefined, (work: () => Promise<string>) => Promise<void>] {
  const [said, setSaid] = useState<Said>()
  const attempt = async (work: () => Promise<string>): Promise<void> => {
    try {
      setSaid({ text: await work(), kind: 'done' })
    } catch (error) {
      setSaid({ text: error instanceof Error ? error.message : String(error), kind: 'refused' })
    }
  }
  return [said, attempt]
}
