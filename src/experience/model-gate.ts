/**
 * Makes samples wait for local reward models until all are there, then continues by group and index: a model then gets the same
 * batches in every run.
 */
export class ModelGate {
  private readonly places: ReadonlyMap<string, number>
  private readonly coming: Promise<unknown>[] = []
  private waiting: { place: number; sample: number; go: () => void }[] = []
  private opened = false

  constructor(promptIds: readonly string[]) {
    this.places = new Map(promptIds.map((promptId, place) => [promptId, place]))
  }

  expect(sample: Promise<unknown>): void {
    this.coming.push(sample.catch(() => {}))
  }

  /** Resolves when all that were expected had their turn to ask for their rewards. */
  async arrived(): Promise<void> {
    await Promise.all(this.coming)
  }

  wait(promptId: string, sample: number): Promise<void> {
    if (this.opened) return Promise.resolve()
    return new Promise(go => this.waiting.push({ place: this.places.get(promptId)!, sample, go }))
  }

  open(): void {
    this.opened = true
    this.waiting.sort((a, b) => a.place - b.place || a.sample - b.sample)
    for (const { go } of this.waiting.splice(0)) go()
  }
}
