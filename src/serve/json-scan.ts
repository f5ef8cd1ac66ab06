/**
 * Looks at JSON as it arrives, before it is parsed: how deep it nests and how many objects and lists it has. Values are
 * many times larger than their text (`{}` is 2 bytes there and 56 in memory), and what goes through them recursively ends
 * at some depth, so both are bounded in the text.
 */
export interface JsonLimits {
  depth: number
  /** Objects and lists together. */
  containers: number
}

export class JsonScan {
  private depth = 0
  private containers = 0
  private state: 'outside' | 'string' | 'escaped' = 'outside'

  constructor(private readonly limits: JsonLimits) {}

  /** What is over its limit, in words; undefined where nothing is. */
  push(bytes: Uint8Array): string | undefined {
    let { state } = this
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]!
      if (state === 'escaped') state = 'string'
      else if (state === 'string') {
        if (byte === 0x22) state = 'outside'
        else if (byte === 0x5c) state = 'escaped'
      } else if (byte === 0x22) state = 'string'
      else if (byte === 0x7b || byte === 0x5b) {
        this.depth++
        this.containers++
        if (this.depth > this.limits.depth) return `it nests deeper than ${this.limits.depth} levels`
        if (this.containers > this.limits.containers)
          return `it has more than ${this.limits.containers} objects and lists`
      } else if (byte === 0x7d || byte === 0x5d) this.depth--
    }
    this.state = state
    return undefined
  }
}
