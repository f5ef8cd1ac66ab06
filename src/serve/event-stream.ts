/**
 * Server-sent events. A client that reads slowly holds up nobody but itself: what it has not taken waits here, at most the
 * tokens its request may have.
 */
import type { ServerResponse } from 'node:http'

export class EventStream {
  private readonly pending: string[] = []
  private blocked = false

  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
    response.on('drain', () => {
      this.blocked = false
      this.flush()
    })
  }

  send(event: object): void {
    this.write(`data: ${JSON.stringify(event)}\n\n`)
  }

  end(): void {
    this.write('data: [DONE]\n\n')
    if (!this.blocked) this.response.end()
    else this.response.once('drain', () => this.response.end())
  }

  private write(text: string): void {
    this.pending.push(text)
    if (!this.blocked) this.flush()
  }

  private flush(): void {
    if (this.pending.length === 0 || this.response.destroyed) return
    // What piled up goes out in one piece.
    this.blocked = !this.response.write(this.pending.splice(0).join(''))
  }
}
