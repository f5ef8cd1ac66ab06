/** Says each diagnosis of a run once, when it first holds, and at the end what was said. */
import { diagnose, type Finding } from './diagnoses.js'
import type { History, Moment } from './metric-history.js'

/** No diagnosis looks back further than this, but for the beginning. */
const kept = 2000

export class DiagnosisWatch {
  readonly #history = new Map<string, { step: number; value: number }[]>()
  readonly #said = new Map<string, Finding & { readonly step: number }>()
  #step = 0
  #at: Moment = 'step'

  /** With the metrics of a resumed run: what they showed was said before. */
  constructor(before: History = new Map()) {
    for (const [name, points] of before) this.#history.set(name, [...points])
    this.#step = Math.max(0, ...[...before.values()].map(points => points.at(-1)?.step ?? 0))
    this.#fresh()
  }

  /** Takes the metrics of a step. Gives what holds now and was not said yet. */
  step(step: number, metrics: Readonly<Record<string, number>>): Finding[] {
    for (const [name, value] of Object.entries(metrics)) {
      const points = this.#history.get(name) ?? []
      points.push({ step, value })
      // The beginning stays: the end is compared with it.
      if (points.length > kept) points.splice(kept / 2, 1)
      this.#history.set(name, points)
    }
    this.#step = step
    return this.#fresh()
  }

  /** No step follows. Gives what a short run shows already. */
  end(): Finding[] {
    this.#at = 'end'
    return this.#fresh()
  }

  /** What was said so far, each with its step and whether it still holds. */
  get found(): (Finding & { readonly step: number; readonly holds: boolean })[] {
    const now = new Map(diagnose(this.#history, this.#at).map(finding => [finding.id, finding]))
    return [...this.#said.values()].map(said => ({ ...said, ...now.get(said.id), holds: now.has(said.id) }))
  }

  #fresh(): Finding[] {
    const fresh = diagnose(this.#history, this.#at).filter(({ id }) => !this.#said.has(id))
    for (const finding of fresh) this.#said.set(finding.id, { ...finding, step: this.#step })
    return fresh
  }
}
