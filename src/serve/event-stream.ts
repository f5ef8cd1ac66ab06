/** Server-sent events. */
import type { ServerResponse } from 'node:http'
import { untilDrained } from './until-drained.js'
import type { WriteOptions } from './write-json.js'

export class EventStream {
  private pending = ''

  constructor(
    private readonly response: ServerResponse,
    private readonly options: WriteOptions,
  ) {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  }

  /** Nobody is there to read. */
  get isClosed(): boolean {
    return this.response.destroyed || this.options.signal.aborted
  }

  /** Goes out with `flush`, in one piece with what else is there. */
  add(event: object): void {
    this.pending += `data: ${JSON.stringify(event)}\n\n`
  }

  /** A promise where the client has to be waited for before it can take more. */
  flush(): Promise<void> | undefined {
    const { pending, response } = this
    this.pending = ''
    if (pending === '' || this.isClosed || response.write(pending)) return undefined
    return untilDrained(response, this.options)
  }

  end(): void {
    if (this.isClosed) return
    this.response.end(`${this.pending}data: [DONE]\n\n`)
    this.pending = ''
  }
}
