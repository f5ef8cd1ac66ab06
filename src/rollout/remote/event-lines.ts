import { StringDecoder } from 'node:string_decoder'

/** The data of server-sent events, from pieces that end anywhere. */
export class EventLines {
  private readonly decoder = new StringDecoder('utf8')
  private rest = ''

  /** The events that are whole with this piece. */
  push(piece: Buffer): string[] {
    const lines = (this.rest + this.decoder.write(piece)).split('\n')
    this.rest = lines.pop()!
    const events: string[] = []
    for (const line of lines) {
      if (!line.startsWith('data:')) continue
      const end = line.endsWith('\r') ? -1 : undefined
      events.push(line.slice(line[5] === ' ' ? 6 : 5, end))
    }
    return events
  }

  /** Characters of an event that is not whole. */
  get pending(): number {
    return this.rest.length
  }
}
