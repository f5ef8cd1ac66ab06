/** The frame of the page: who is signed in, which runs are shown, and which view of them. */
import { useEffect, useState } from 'preact/hooks'
import type { RunSummary } from '../api.js'
import { type Address, type RunPage, runPages, writeAddress } from './address.js'
import { post } from './client.js'
import { useAddress, useAnswer, useRemembered } from './hooks.js'
import { listen } from './live.js'
import { Login } from './login.js'
import { Failure, RunBadge } from './parts/common.js'
import { report } from './report-answers.js'
import { Act } from './views/act.js'
import { Alerts } from './views/alerts.js'
import { Chat } from './views/chat.js'
import { Config } from './views/config.js'
import { Curves } from './views/curves.js'
import { Distributions } from './views/distributions.js'
import { Groups } from './views/groups.js'
import { Runs } from './views/runs.js'
import { Samples } from './views/samples.js'
import { Stages } from './views/stages.js'

export interface ViewProps {
  readonly address: Address
  readonly run: string
}

const titles: Readonly<Record<RunPage, string>> = {
  ...{ curves: 'Curves', stages: 'Stages', samples: 'Samples', groups: 'Groups', distributions: 'Distributions' },
  ...{ alerts: 'Alerts', act: 'Act', chat: 'Chat', config: 'Config' },
}

const views: Readonly<Record<RunPage, (props: ViewProps) => preact.JSX.Element>> = {
  curves: ({ address }) => <Curves address={address} />,
  stages: Stages,
  samples: Samples,
  groups: Groups,
  distributions: Distributions,
  alerts: Alerts,
  act: Act,
  chat: Chat,
  config: Config,
}

/** A report shows what can be looked at without a server. */
const shownPages = runPages.filter(page => !report || page !== 'chat')

export function App() {
  const [session, setSession] = useState<'signing in' | 'in' | 'out'>(report ? 'in' : 'signing in')
  useEffect(() => {
    if (report) {
      if (location.hash === '') location.hash = writeAddress({ runs: [report.run.name], page: 'curves', query: {} })
      return
    }
    const out = () => setSession('out')
    const enter = () => void signIn().then(setSession)
    // A new token in the address of a page that is open already does not load it again.
    const onHash = () => hasToken() && enter()
    addEventListener('whetstone-login', out)
    addEventListener('hashchange', onHash)
    enter()
    return () => {
      removeEventListener('whetstone-login', out)
      removeEventListener('hashchange', onHash)
    }
  }, [])
  if (session === 'signing in') return <p class="note">Signing in</p>
  if (session === 'out') return <Login onIn={() => setSession('in')} />
  return <Frame />
}

const hasToken = (): boolean => location.hash.startsWith('#token=')

/** With the token behind the `#`, which then leaves the address; else with the cookie of an earlier visit. */
async function signIn(): Promise<'in' | 'out'> {
  if (!hasToken()) return 'in'
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? ''
  history.replaceState(null, '', location.pathname)
  return await post('POST /api/login', {}, { token }).then(
    () => 'in' as const,
    () => 'out' as const,
  )
}

function Frame() {
  const address = useAddress()
  const { runs: names, page } = address
  const [isOpen, setOpen] = useState(true)
  const [run] = names
  useEffect(() => (report ? undefined : listen(run, setOpen)), [run])
  const { answer: summary, error } = useAnswer(
    run === undefined ? undefined : { route: 'GET /api/runs/:run', parts: { run } },
    ['run', 'metrics', 'acts'],
  )
  useEffect(() => {
    document.title = run === undefined ? 'Whetstone' : `${names.join(', ')} · ${page} · Whetstone`
  }, [names.join(), page])
  const isGone = names.length === 1 && error !== undefined && !summary
  const View = page === 'runs' ? undefined : views[page]
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        To the content
      </button>
      <header class="top">
        <Bar address={address} summary={names.length === 1 ? summary : undefined} />
        {names.length === 1 && <Tabs address={address} summary={summary} />}
      </header>
      <main id="main" tabIndex={-1}>
        {!isOpen && <p class="card notice">The dashboard does not answer. What is shown may be old.</p>}
        {isGone && <Failure message={error} />}
        {isGone && !report && <a href="#/">All runs</a>}
        {isGone ? null : run !== undefined && View ? (
          <View key={`${page} ${names.join()}`} address={address} run={run} />
        ) : (
          <Runs />
        )}
      </main>
    </>
  )
}

function Bar({ address, summary }: { readonly address: Address; readonly summary: RunSummary | undefined }) {
  const [theme, setTheme] = useRemembered('theme', 'system')
  useEffect(() => {
    if (theme === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
  }, [theme])
  const { runs } = address
  return (
    <div class="bar">
      <a class="brand" href={report ? writeAddress({ runs, page: 'curves', query: {} }) : '#/'}>
        Whetstone
      </a>
      <h1>{runs.length === 0 ? 'Runs' : runs.length === 1 ? runs[0] : `${runs.length} runs compared`}</h1>
      {summary && <RunBadge run={summary} />}
      <span class="grow" />
      <label class="small dim">
        theme{' '}
        <select value={theme} onChange={event => setTheme(event.currentTarget.value)}>
          <option>system</option>
          <option>light</option>
          <option>dark</option>
        </select>
      </label>
    </div>
  )
}

/** Of trainings that sample nothing. */
const withoutSamples = shownPages.filter(page => !['samples', 'groups', 'distributions'].includes(page))

function Tabs({ address, summary }: { readonly address: Address; readonly summary: RunSummary | undefined }) {
  const alerts = summary?.alerts ?? 0
  const pages = summary && summary.command !== 'rl' ? withoutSamples : shownPages
  return (
    <nav class="tabs" aria-label="Views of the run">
      {pages.map(page => (
        <a
          key={page}
          href={writeAddress({ ...address, page, query: {} })}
          aria-current={address.page === page ? 'page' : undefined}
        >
          {titles[page]}
          {page === 'alerts' && alerts > 0 && <span class="badge bad">{alerts}</span>}
        </a>
      ))}
    </nav>
  )
}
