import type { ExperienceBatch } from '../../experience/index.js'

/**
 * Seconds of the stages of one iteration. If a rollout began during an earlier iteration, only the time that this iteration waited for it
 * counts, as `wait`.
 */
export class IterationClock {
  readonly seconds: Record<string, number> = {}
  private last = performance.now()

  lap(stage: string): void {
    const now = performance.now()
    this.seconds[stage] = (now - this.last) / 1000
    this.last = now
  }

  /** The stages of the rollout; the rest of its time (the journal, digests) is `other`. */
  takeRollout({ info }: ExperienceBatch): void {
    this.lap('other')
    const { encoding, generation, reward, actor, reference, critic, advantages } = info.seconds
    const waited = this.seconds.generation!
    const before = encoding + generation + reward
    const after = actor + reference + critic + advantages
    if (waited >= before) Object.assign(this.seconds, { encoding, generation, reward })
    else {
      delete this.seconds.generation
      this.seconds.wait = waited
    }
    Object.assign(this.seconds, { actor, reference, critic, advantages })
    this.seconds.other = Math.max(0, this.seconds.other! - after) + Math.max(0, waited - before)
  }
}
