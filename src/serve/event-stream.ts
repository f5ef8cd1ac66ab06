/**
 * Server-sent events. A client that reads slowly holds up nobody but itself: what it has not taken waits here, at most the
 * tokens its request may have.
 */
import type { ServerResponse } from 'node:http'

export class EventStream {
  private readonly pending: string[] = []
  private blocked = false
  private later: NodeJS.Immediate | undefined

  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
    response.on('drain', () => {
      this.blocked = false
      this.flush()
    })
  }

  /** Goes out at the end of the turn, in one piece with what else comes in it. */
  send(event: object): void {
    this.pending.push(`data: ${JSON.stringify(event)}\n\n`)
    this.later ??= setImmediate(() => this.flush())
  }

  end(): void {
    this.pending.push('data: [DONE]\n\n')
    this.flush()
    if (!this.blocked) this.response.end()
    else this.response.once('drain', () => this.response.end())
  }

  private flush(): void {
    clearImmediate(this.later)
    this.later = undefined
    if (this.blocked || this.pending.length === 0 || this.response.destroyed) return
    this.blocked = !this.response.write(this.pending.splice(0).join(''))
  }
}
