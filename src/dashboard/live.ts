/**
 * Tells pages what changed, by server-sent events. Run directories are looked at once a second while a page is open, and not at all
 * otherwise. A page that does not read is skipped, and closed after a while: nothing waits for it.
 */
import type { ServerResponse } from 'node:http'
import type { LiveEvent } from './api.js'
import type { RunCatalog } from './catalog.js'
import { isListening } from './control.js'
import { securityHeaders } from './exchange.js'
import type { SampleServices } from './samples/service.js'

interface Page {
  readonly response: ServerResponse
  readonly run: string | undefined
  /** Since when it has not read what it was sent. */
  stalledSince: number | undefined
}

const everyMs = 1000
/** New samples are looked for more rarely: reading them takes processor time, which a training on the same machine may need. */
const samplesEveryMs = 2000
const pingMs = 15_000

export class LiveEvents {
  readonly #pages = new Set<Page>()
  #timer: NodeJS.Timeout | undefined
  #known = new Map<string, string>()
  #looking: Promise<void> | undefined
  #pinged = 0
  #lookedForSamples = 0

  constructor(
    private readonly catalog: RunCatalog,
    private readonly services: SampleServices,
    private readonly stallMs: number,
  ) {}

  open(response: ServerResponse, run: string | undefined): void {
    response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write(': hello\n\n')
    const page: Page = { response, run, stalledSince: undefined }
    this.#pages.add(page)
    response.on('close', () => {
      this.#pages.delete(page)
      if (this.#pages.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    })
    this.#timer ??= setInterval(() => this.#look(), everyMs).unref()
  }

  /** Sends an event to every page that is about this run, or about all. */
  send(event: LiveEvent): void {
    const text = `data: ${JSON.stringify(event)}\n\n`
    for (const page of this.#pages) {
      const isSmall = event.kind === 'runs' || event.kind === 'run'
      if (!isSmall && page.run !== event.run) continue
      this.#write(page, text)
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    for (const { response } of this.#pages) response.end()
    this.#pages.clear()
    await this.#looking
  }

  #write(page: Page, text: string): void {
    const { response } = page
    if (!response.writableNeedDrain) {
      page.stalledSince = undefined
      response.write(text)
      return
    }
    page.stalledSince ??= Date.now()
    if (Date.now() - page.stalledSince > this.stallMs) response.destroy()
  }

  #look(): void {
    this.#looking ??= this.#changes().finally(() => {
      this.#looking = undefined
    })
  }

  /** Of a run whose samples are shown to a client. */
  async #samplesOf(run: string, directory: string): Promise<void> {
    const isWatched = [...this.#pages].some(page => page.run === run)
    const service = isWatched ? await this.services.known(directory) : undefined
    const progress = await service?.ask('progress', {}).catch(() => undefined)
    if (!progress || this.#samples.get(run) === progress.samples) return
    this.#samples.set(run, progress.samples)
    this.send({ kind: 'samples', run, samples: progress.samples })
  }

  readonly #samples = new Map<string, number>()

  async #changes(): Promise<void> {
    const now = new Map<string, string>()
    const { runs } = await this.catalog.all().catch(() => ({ runs: [] }))
    // The timer may be a little early.
    const isTimeForSamples = performance.now() - this.#lookedForSamples > samplesEveryMs - everyMs / 2
    if (isTimeForSamples) this.#lookedForSamples = performance.now()
    for (const { name, directory, view } of runs) {
      const listening = view.status === 'running' && (await isListening(directory))
      const state = `${view.status} ${view.step} ${listening} ${view.events.length} ${view.checkpoints.length}`
      now.set(name, state)
      if (isTimeForSamples) await this.#samplesOf(name, directory)
      if (this.#known.get(name) === state) continue
      this.send({ kind: 'run', run: name, status: view.status, step: view.step, listening })
      this.send({ kind: 'metrics', run: name, step: view.step })
    }
    if ([...now.keys()].join('\n') !== [...this.#known.keys()].join('\n')) this.send({ kind: 'runs' })
    this.#known = now
    if (Date.now() - this.#pinged < pingMs) return
    this.#pinged = Date.now()
    for (const page of this.#pages) this.#write(page, ': here\n\n')
  }
}
