/**
 * A run as one HTML file that opens offline: the dashboard's own page, with the answers to all that it asks. They come from the
 * dashboard's server, so that both show the same.
 */
import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type {
  ActsAnswer,
  AlertsAnswer,
  CurvesAnswer,
  DistributionsAnswer,
  MetricsAnswer,
  RunDetail,
  RunsAnswer,
  SampleDetail,
  SampleRow,
  SamplesAnswer,
  Session,
  StagesAnswer,
  TokensAnswer,
} from './api.js'
import { PageFiles } from './page-files.js'
import type { ReportData } from './report-data.js'
import { Dashboard } from './server.js'

interface ReportOptions {
  /** Of the run. */
  readonly directory: string
  /** Most samples, and most of them with the numbers of their tokens. */
  readonly samples: number
  readonly tokens: number
}

export interface Report {
  readonly html: string
  /** Samples that it shows, and that the run has. */
  readonly shown: number
  readonly samples: number
}

export async function makeReport({ directory, samples, tokens }: ReportOptions): Promise<Report> {
  const files = await PageFiles.read()
  const dashboard = await Dashboard.start({ directory, port: 0 })
  try {
    const data = await collect(new Asker(dashboard), { samples, tokens })
    return { html: htmlOf(files, data), shown: data.rows.length, samples: data.samples }
  } finally {
    await dashboard.close()
  }
}

/** Asks the server's routes. */
class Asker {
  pictureBytes = 0

  constructor(private readonly dashboard: Dashboard) {}

  /** Undefined where it is gone. */
  async picture(path: string): Promise<Buffer | undefined> {
    const response = await this.#ask(path)
    if (!response.ok) return undefined
    const bytes = Buffer.from(await response.arrayBuffer())
    this.pictureBytes += bytes.length
    return bytes
  }

  async get<T>(path: string): Promise<T> {
    const response = await this.#ask(path)
    const answer = (await response.json()) as T & { error?: string }
    if (!response.ok) throw new Error(answer.error ?? `the answer to ${path} has status ${response.status}`)
    return answer
  }

  #ask(path: string): Promise<Response> {
    const { origin, token } = this.dashboard
    return fetch(`${origin}/api${path}`, { headers: { authorization: `Bearer ${token}` } })
  }
}

async function collect(asker: Asker, most: { samples: number; tokens: number }): Promise<ReportData> {
  const { runs, unreadable } = await asker.get<RunsAnswer>('/runs')
  const [only] = runs
  if (!only) throw new Error(unreadable[0]?.error ?? 'this is not a run directory')
  const path = `/runs/${encodeURIComponent(only.name)}`
  // Questions about samples start their index; wait for it.
  let found = await asker.get<SamplesAnswer>(`${path}/samples?limit=1`)
  for (; found.index.state === 'building'; found = await asker.get<SamplesAnswer>(`${path}/samples?limit=1`))
    await pause(100)
  const run = await asker.get<RunDetail>(path)
  const metrics = await asker.get<MetricsAnswer>(`${path}/metrics`)
  const names = metrics.metrics.map(({ name }) => name)
  const { curves } = await asker.get<CurvesAnswer>(
    `${path}/curves?points=600&metrics=${encodeURIComponent(names.join())}`,
  )
  const { rows, numbered } = await chosenRows(asker, path, most)
  const details: Record<string, SampleDetail> = {}
  const tokens: Record<string, TokensAnswer> = {}
  const pictures: Record<string, readonly string[]> = {}
  for (const { id } of rows) {
    details[id] = await asker.get<SampleDetail>(`${path}/samples/${encodeURIComponent(id)}`)
    pictures[id] = await picturesOf(asker, `${path}/samples/${encodeURIComponent(id)}`, details[id].media.length)
    if (numbered.has(id)) tokens[id] = await asker.get<TokensAnswer>(`${path}/samples/${encodeURIComponent(id)}/tokens`)
  }
  return {
    session: await asker.get<Session>('/session'),
    run: { ...run, listening: false },
    metrics,
    curves,
    stages: await asker.get<StagesAnswer>(`${path}/stages`),
    distributions: found.total === 0 ? null : await asker.get<DistributionsAnswer>(`${path}/distributions`),
    alerts: await asker.get<AlertsAnswer>(`${path}/alerts`),
    acts: {
      ...(await asker.get<ActsAnswer>(`${path}/acts`)),
      ...{ listening: false, state: null, reason: 'This is a report: open the dashboard to act on the run.' },
    },
    ...{
      rows,
      samples: found.total,
      components: found.components,
      dropReasons: found.dropReasons,
      details,
      tokens,
      pictures,
    },
  }
}

/** Bytes of pictures that a report carries. */
const mostPictureBytes = 8 << 20

async function picturesOf(asker: Asker, path: string, count: number): Promise<string[]> {
  const pictures: string[] = []
  for (let n = 0; n < count && asker.pictureBytes < mostPictureBytes; n++) {
    const bytes = await asker.picture(`${path}/media/${n}`)
    if (bytes) pictures.push(`data:image/png;base64,${bytes.toString('base64')}`)
  }
  return pictures
}

/** The best, the worst, the first and the last samples, a quarter each; the same of them have the numbers of their tokens. */
async function chosenRows(asker: Asker, path: string, most: { samples: number; tokens: number }) {
  const orders = [
    'sort=reward&order=descending',
    'sort=reward&order=ascending',
    'sort=iteration&order=descending',
    'sort=iteration&order=ascending',
  ]
  const rows = new Map<string, SampleRow>()
  const numbered = new Set<string>()
  const limit = Math.min(500, Math.ceil(most.samples / orders.length))
  for (const order of limit === 0 ? [] : orders) {
    const answer = await asker.get<SamplesAnswer>(`${path}/samples?limit=${limit}&${order}`)
    for (const row of answer.rows) rows.set(row.id, row)
    for (const { id } of answer.rows.slice(0, Math.ceil(most.tokens / orders.length))) numbered.add(id)
  }
  return { rows: [...rows.values()].sort((a, b) => a.iteration - b.iteration), numbered }
}

/** Everything in one file. Only its own script and style sheet work: they are named by their hashes, and nothing can be asked for. */
function htmlOf(files: PageFiles, data: ReportData): string {
  const script = files.text('page.js')
  const style = files.text('page.css')
  // Whatever a text contains, it cannot end the element that it stands in.
  const json = JSON.stringify(data).replace(/</g, '\\u003c')
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="content-security-policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<title>Whetstone</title>',
    '<link rel="icon" href="data:,">',
    `<style>${style}</style>`,
    '</head>',
    '<body>',
    '<div id="page"><p class="note">Loading. The page needs JavaScript.</p></div>',
    `<script id="report" type="application/json">${json}</script>`,
    `<script>${script}</script>`,
    '</body>',
    '</html>',
    '',
  ].join('\n')
}

const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`
