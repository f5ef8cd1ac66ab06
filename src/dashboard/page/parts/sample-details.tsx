/** One sample: its numbers, as a conversation and as tokens, what rewarded it, and what can be done with it. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { SampleDetail } from '../../api.js'
import { mediaSource } from '../client.js'
import { number, seconds } from '../format.js'
import { useAnswer } from '../hooks.js'
import { report } from '../report-answers.js'
import { CopyButton, Loading, Numbers, Words } from './common.js'
import { SampleActs } from './sample-acts.js'
import { Tokens } from './tokens.js'

interface DetailsProps {
  readonly run: string
  readonly id: string
  readonly onClose: () => void
  readonly onChange: () => void
  readonly neighbours: { readonly previous: (() => void) | undefined; readonly next: (() => void) | undefined }
}

const tabs = ['conversation', 'tokens', 'record'] as const
type Tab = (typeof tabs)[number]

let lastTab: Tab = 'conversation'

export function SampleDetails({ run, id, onClose, onChange, neighbours }: DetailsProps) {
  const { answer, error, reload } = useAnswer({
    route: 'GET /api/runs/:run/samples/:sample',
    parts: { run, sample: id },
  })
  const [tab, setTab] = useState<Tab>(lastTab)
  const host = useRef<HTMLElement>(null)
  // An opened sample takes the focus, so that the keyboard scrolls it.
  useEffect(() => host.current?.focus(), [])
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return
    const act = { j: neighbours.next, k: neighbours.previous, Escape: onClose }[event.key]
    if (!act) return
    event.preventDefault()
    act()
  }
  const changed = () => {
    reload()
    onChange()
  }
  const select = (name: Tab) => {
    lastTab = name
    setTab(name)
  }
  return (
    <section class="card stack" ref={host} tabIndex={-1} aria-label={`Sample ${id}`} onKeyDown={onKeyDown}>
      <div class="row">
        <h2 class="mono">{id}</h2>
        <button type="button" disabled={!neighbours.previous} onClick={neighbours.previous}>
          Previous (k)
        </button>
        <button type="button" disabled={!neighbours.next} onClick={neighbours.next}>
          Next (j)
        </button>
        <button type="button" onClick={onClose}>
          Close
        </button>
        {answer && <CopyButton label="Copy as JSON" text={() => JSON.stringify(answer.record, null, 2)} />}
      </div>
      {!answer && <Loading error={error} />}
      {answer && (
        <>
          <Facts detail={answer} />
          {!report && <SampleActs run={run} detail={answer} onChange={changed} />}
          <div class="row">
            {tabs.map(name => (
              <button key={name} type="button" aria-pressed={tab === name} onClick={() => select(name)}>
                {name}
              </button>
            ))}
          </div>
          {tab === 'conversation' && <Conversation run={run} detail={answer} />}
          {tab === 'tokens' && <Tokens run={run} id={id} />}
          {tab === 'record' && <Words text={JSON.stringify(answer.record, null, 2)} limited="limited" />}
        </>
      )}
    </section>
  )
}

function Facts({ detail }: { readonly detail: SampleDetail }) {
  const { timings, rewardFailure, droppedMessage } = detail
  const facts: Record<string, string | number | null> = {
    reward: detail.reward,
    iteration: detail.iteration,
    prompt: detail.promptId,
    finish: detail.finish,
    'tokens of the response': detail.length,
    'tokens of the prompt': detail.promptLength,
  }
  const means: Record<string, string | number | null> = {
    'mean KL': detail.kl ?? 'not recorded',
    'mean entropy': detail.entropy ?? 'not recorded',
    'mean gap between engine and trainer': detail.gap ?? 'not recorded',
    'version of the policy': detail.policyVersion,
    seed: detail.seed,
    ...(timings ? { 'time to generate': seconds((timings.finishedMs - timings.startedMs) / 1000) } : {}),
  }
  const rewards = { ...detail.components, ...detail.rewardMetrics }
  return (
    <>
      {detail.dropped !== null && (
        <p class="error">
          Dropped ({detail.dropped}){droppedMessage !== null && `: ${droppedMessage}`}
        </p>
      )}
      {rewardFailure && (
        <p class="error">
          The reward source {rewardFailure.source} failed ({rewardFailure.reason}): {rewardFailure.message}
        </p>
      )}
      <div class="grid">
        <Numbers values={facts} />
        <Numbers values={means} />
        {Object.keys(rewards).length > 0 && (
          <div>
            <h3>Components and metrics of the reward</h3>
            <Numbers values={rewards} />
          </div>
        )}
      </div>
    </>
  )
}

function Conversation({ run, detail }: { readonly run: string; readonly detail: SampleDetail }) {
  return (
    <div class="stack">
      {detail.media.length > 0 && (
        <div class="pictures">
          {detail.media.map((media, n) => (
            <Picture key={n} media={media} n={n} source={mediaSource(run, detail.id, n)} />
          ))}
        </div>
      )}
      {detail.turns.map(({ role, text, note }, place) =>
        role === 'note' ? (
          <p key={place} class="dim small">
            {text}
          </p>
        ) : (
          <div key={place} class={`turn ${role}`}>
            <div class="dim small">
              <b>{role}</b>
              {note !== undefined && ` · ${note}`}
            </div>
            <Words text={text} />
          </div>
        ),
      )}
    </div>
  )
}

interface PictureProps {
  readonly media: SampleDetail['media'][number]
  readonly n: number
  readonly source: string | undefined
}

/** A run keeps the pixels that its model saw; the frames of a video stand below each other. */
function Picture({ media: { kind, width, height }, n, source }: PictureProps) {
  const size = width === null ? 'the copy of the run is gone' : `${number(width)} × ${number(height)} pixels`
  return (
    <figure class="media">
      {width !== null && source !== undefined && <img src={source} alt={`${kind} ${n + 1} of the prompt`} />}
      <figcaption class="dim small">
        {kind} {n + 1}, {size}
        {kind === 'video' && ', frames below each other'}
      </figcaption>
    </figure>
  )
}
