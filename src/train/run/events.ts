/** Events of a training, for programs. */
import type { DataReport } from '../../data/index.js'
import type { LogEntry } from '../../run/index.js'
import type { CheckedModels } from '../checks/check-plan.js'

type Metrics = Readonly<Record<string, number>>

/** Steps are iterations in reinforcement learning, and optimiser steps elsewhere. */
export type TrainingEvent =
  /** Everything is checked, and nothing is trained yet. */
  | { readonly kind: 'checked'; readonly models: CheckedModels; readonly data: readonly DataReport[] }
  /** What is being done now: `loading the actor`, `generating`. */
  | { readonly kind: 'stage'; readonly text: string }
  | { readonly kind: 'step'; readonly step: number; readonly metrics: Metrics }
  /** On held-out rows or prompts. */
  | { readonly kind: 'evaluation'; readonly step: number; readonly metrics: Metrics }
  /** Saved: a resumed run goes on from here. */
  | { readonly kind: 'checkpoint'; readonly step: number }
  /** One of the samples whose texts are logged. */
  | {
      readonly kind: 'sample'
      readonly step: number
      readonly prompt: string
      readonly response: string
      readonly reward: number
      readonly components: Metrics
    }
  | { readonly kind: 'warning'; readonly message: string }
  /** A line for people. */
  | { readonly kind: 'note'; readonly message: string }

/** What a run logs, as an event; undefined where it is only of use in a file. */
export function eventOf(entry: LogEntry): TrainingEvent | undefined {
  if (entry.log === 'metrics') return { kind: 'step', step: entry.step, metrics: entry.values }
  if (entry.log === 'samples') {
    const { iteration: step, prompt, response, reward, components } = entry.record as unknown as LoggedSample
    return { kind: 'sample', step, prompt, response, reward, components }
  }
  const { event, fields } = entry
  if (event === 'warning') return { kind: 'warning', message: fields.message as string }
  const { step, iteration, ...metrics } = fields as Metrics
  if (event === 'checkpoint') return { kind: 'checkpoint', step: step! }
  return event === 'evaluation' ? { kind: 'evaluation', step: (iteration ?? step)!, metrics } : undefined
}

interface LoggedSample extends Omit<Extract<TrainingEvent, { kind: 'sample' }>, 'kind' | 'step'> {
  readonly iteration: number
}
