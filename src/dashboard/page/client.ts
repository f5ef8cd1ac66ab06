/** Asks the server, by the routes of `api.ts`. A report has its answers with it and asks nothing. */
import type { ChatLine, ChatRequest, Routes } from '../api.js'
import { report, reportAnswer } from './report-answers.js'

type Name<Method extends string> = Extract<keyof Routes, `${Method} ${string}`>
export type GetRoute = Exclude<Name<'GET'>, 'GET /api/events' | `${string}/export` | `${string}/:n`>
type PostRoute = Exclude<Name<'POST'>, `${string}/chat`>
type QueryOf<R extends GetRoute> = Routes[R] extends { query: infer Q } ? Q : undefined

export interface Parts {
  readonly run?: string
  readonly sample?: string
}

export interface Question<R extends GetRoute> {
  readonly route: R
  readonly parts?: Parts
  readonly query?: QueryOf<R>
}

/** The server refused, or is not there. */
export class AnswerError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

export async function get<R extends GetRoute>(
  question: Question<R>,
  signal?: AbortSignal,
): Promise<Routes[R]['answer']> {
  const embedded = reportAnswer(question)
  if (embedded !== undefined) return embedded as Routes[R]['answer']
  return (await answered(() => fetch(pathOf(question), signal ? { signal } : {}))) as Routes[R]['answer']
}

export async function post<R extends PostRoute>(
  route: R,
  parts: Parts,
  body: Routes[R]['body'],
): Promise<Routes[R]['answer']> {
  const path = filled(route, parts)
  return (await answered(() => fetch(path, json(body)))) as Routes[R]['answer']
}

/** The lines of a chat as they come. Ends when `signal` is aborted. */
export async function* chat(run: string, body: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatLine> {
  const response = await fetch(filled('POST /api/runs/:run/chat', { run }), { ...json(body), signal })
  if (!response.ok || !response.body) throw await refused(response)
  const decoder = new TextDecoder()
  let rest = ''
  const reader = response.body.getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + decoder.decode(part.value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as ChatLine
  }
}

export function pathOf({ route, parts = {}, query }: Question<GetRoute>): string {
  const asked = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(asked.map(([name, value]): [string, string] => [name, String(value)])).toString()
  return `${filled(route, parts)}${text === '' ? '' : `?${text}`}`
}

/** Of a picture of a sample. A report carries some of them; undefined for others. */
export function mediaSource(run: string, sample: string, n: number): string | undefined {
  if (report) return report.pictures[sample]?.[n]
  return `/api/runs/${encodeURIComponent(run)}/samples/${encodeURIComponent(sample)}/media/${n}`
}

/** Of a file to download. */
export const exportPath = (run: string, what: 'flags' | 'pairs'): string =>
  `/api/runs/${encodeURIComponent(run)}/export?what=${what}`

function filled(route: string, parts: Parts): string {
  const path = route.slice(route.indexOf(' ') + 1)
  return path.replace(/:(run|sample)/g, (_, name: keyof Parts) => encodeURIComponent(parts[name] ?? ''))
}

const json = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

async function answered(ask: () => Promise<Response>): Promise<unknown> {
  let response: Response
  try {
    response = await ask()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new AnswerError(0, 'The dashboard does not answer. Is `whetstone dashboard` still running?')
  }
  if (!response.ok) throw await refused(response)
  return await response.json()
}

async function refused(response: Response): Promise<AnswerError> {
  const said = (await response.json().catch(() => ({}))) as { error?: string }
  return new AnswerError(response.status, said.error ?? `The dashboard answered with status ${response.status}.`)
}
