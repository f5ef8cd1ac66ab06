/** Outcomes waiting to be read: an async iterator that ends when all that were expected have been. */
export class OutcomeQueue<T> implements AsyncIterableIterator<T, undefined> {
  private readonly ready: T[] = []
  private readonly readers: ((result: IteratorResult<T, undefined>) => void)[] = []
  private left = 0
  private sealed = false
  private done = false

  constructor(private readonly onEnd: () => void) {}

  /** So many more will come. */
  expect(count: number): void {
    this.left += count
  }

  /** Nothing more will be expected. */
  seal(): void {
    this.sealed = true
    this.settle()
  }

  push(value: T): void {
    this.left--
    if (this.done) return
    const reader = this.readers.shift()
    if (reader) reader({ value, done: false })
    else this.ready.push(value)
    this.settle()
  }

  private settle(): void {
    if (this.done || !this.sealed || this.left > 0 || this.ready.length > 0) return
    this.end()
  }

  private end(): void {
    this.done = true
    this.onEnd()
    for (const reader of this.readers.splice(0)) reader({ value: undefined, done: true })
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const value = this.ready.shift()
    if (value !== undefined) {
      return Promise.resolve({ value, done: false })
    }
    this.settle()
    if (this.done) return Promise.resolve({ value: undefined, done: true })
    return new Promise(resolve => this.readers.push(resolve))
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.ready.length = 0
    if (!this.done) this.end()
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
