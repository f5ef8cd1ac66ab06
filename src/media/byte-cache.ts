/** Results by name, as many as fit. What was used longest ago goes first. */
export class ByteCache<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly bytes: number }>()
  #bytes = 0

  constructor(
    private readonly maxBytes: number,
    private readonly sizeOf: (value: T) => number,
  ) {}

  get bytes(): number {
    return this.#bytes
  }

  get(name: string): T | undefined {
    const entry = this.#entries.get(name)
    if (!entry) return undefined
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    return entry.value
  }

  set(name: string, value: T): void {
    const bytes = this.sizeOf(value)
    this.#delete(name)
    if (bytes > this.maxBytes) return
    this.#entries.set(name, { value, bytes })
    this.#bytes += bytes
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.maxBytes) break
      this.#delete(oldest)
    }
  }

  #delete(name: string): void {
    this.#bytes -= this.#entries.get(name)?.bytes ?? 0
    this.#entries.delete(name)
  }
}
