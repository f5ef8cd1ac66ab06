/** How many steps a device may take before anyone looks at the tokens. Pure. */
import type { SequenceState } from './request-state.js'
import type { Plan } from './scheduler.js'
import type { StepBatch } from './step.js'

export interface MultiStepPlan {
  steps: number
  /** How many tokens each may get. */
  budgets: Int32Array
}

/** What decides how far a sample can go without the host. */
export type MultiStepCandidate = Pick<SequenceState, 'maxNewTokens'> & {
  response: { length: number }
  requestState: {
    sampling: Pick<SequenceState['requestState']['sampling'], 'temperature' | 'firstTemperature' | 'minNewTokens'> & {
      topLogprobs?: number | undefined
    }
  }
}

/** For so many tokens the sample is drawn in the same way: temperature, and what cannot be drawn, stay. */
function steady({ response, requestState: { sampling } }: MultiStepCandidate): number {
  if (response.length === 0 && sampling.firstTemperature !== sampling.temperature) return 1
  return response.length < sampling.minNewTokens ? sampling.minNewTokens - response.length : Number.POSITIVE_INFINITY
}

/**
 * Steps for samples that have one row each; undefined where a sample wants more of the likeliest tokens than `most.top`. Tokens
 * behind the end of a response are computed for nothing, so nothing is gained beyond the longest budget.
 */
export function planMultiStep(
  samples: readonly MultiStepCandidate[],
  most: { steps: number; top: number },
): MultiStepPlan | undefined {
  const budgets = new Int32Array(samples.length)
  let { steps } = most
  let longest = 1
  for (const [i, sample] of samples.entries()) {
    if ((sample.requestState.sampling.topLogprobs ?? -1) > most.top) return undefined
    budgets[i] = sample.maxNewTokens - sample.response.length
    longest = Math.max(longest, budgets[i]!)
    steps = Math.min(steps, steady(sample))
  }
  return { steps: Math.min(steps, longest), budgets }
}

/** Whether every row of a plan is the last token of a sample. */
export function decodesOnly(plan: Plan<SequenceState>): boolean {
  return plan.scheduled.every(({ samples, count }) => samples && count === 1)
}

/**
 * Whether the rows of a batch of next tokens are turned, stored and drawn by one position each: steps that follow one another
 * on a device count only one. Others are taken step by step.
 */
export function hasOnePosition({ ropePositions, kvPositions, samplingRows }: StepBatch): boolean {
  for (let row = 0; row < samplingRows.count; row++) {
    const position = kvPositions[row]
    if (ropePositions[row] !== position || samplingRows.streams[3 * row + 2] !== position) return false
  }
  return true
}
