/** Why samples were not trained on: what the journal says of each, and what `logs/skipped.jsonl` says of groups. */
import { join } from 'node:path'
import { LogTail, runPaths } from '../../run/index.js'
import type { JournalledSample } from '../../train/records.js'

/** Words for reasons that concern a whole group. */
export const groupReasons: Readonly<Record<string, string>> = {
  'zero-variance': 'all samples of its group have the same reward, so that none has an advantage',
  surplus: 'the batch was full',
  stale: 'it was sampled from weights that are older than maxStaleness allows',
  'group-incomplete': 'other samples of its group were lost',
  'not-trained': 'the iteration was trained without it',
  'dropped-by-hand': 'a person dropped it',
}

/** What the journal itself says of a sample: how it failed, and whether it was trained on. */
export interface SampleFate {
  readonly failure: string | undefined
  readonly trained: boolean | undefined
}

export function fateOf({ outcome, reward, trained }: JournalledSample): SampleFate {
  if (outcome.kind !== 'completed') return { failure: `generation: ${outcome.reason}`, trained }
  return { failure: reward?.kind === 'failed' ? `reward: ${reward.reason}` : undefined, trained }
}

export class DropReasons {
  readonly #tail: LogTail
  readonly #byIteration = new Map<number, Map<string, string>>()

  constructor(directory: string) {
    this.#tail = new LogTail(join(runPaths(directory).logs, 'skipped.jsonl'))
  }

  async refresh(): Promise<void> {
    await this.#tail.read({
      restart: () => this.#byIteration.clear(),
      line: bytes => this.#take(bytes.toString()),
    })
  }

  forget(iteration: number): void {
    this.#byIteration.delete(iteration)
  }

  /** A short word; empty where the sample was trained on, or where that is not known yet. */
  of(iteration: number, { promptId, sample, fate }: { promptId: string; sample: number; fate: SampleFate }): string {
    if (fate.failure !== undefined) return fate.failure
    if (fate.trained !== false) return ''
    const said = this.#byIteration.get(iteration)?.get(`${promptId}, sample ${sample}`)
    return said ?? 'not-trained'
  }

  #take(line: string): void {
    try {
      const { where, iteration, reason } = JSON.parse(line) as Record<string, unknown>
      // Rows that were left out of the data have no iteration.
      if (typeof iteration !== 'number' || typeof where !== 'string' || typeof reason !== 'string') return
      const known = this.#byIteration.get(iteration) ?? new Map<string, string>()
      known.set(where, reason)
      this.#byIteration.set(iteration, known)
    } catch {
      // A damaged line says nothing.
    }
  }
}
