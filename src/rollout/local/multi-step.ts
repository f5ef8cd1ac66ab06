/** How many steps a device takes before the host reads the tokens. Pure. */
import type { SequenceState } from './request-state.js'
import type { Plan } from './scheduler.js'
import type { StepBatch } from './step.js'

interface MultiStepPlan {
  steps: number
  /** Most tokens of each sample. */
  budgets: Int32Array
}

/** A sample, as far as it matters for multi-step decoding. */
export type MultiStepCandidate = Pick<SequenceState, 'maxNewTokens'> & {
  response: { length: number }
  requestState: {
    sampling: Pick<SequenceState['requestState']['sampling'], 'temperature' | 'firstTemperature' | 'minNewTokens'> & {
      topLogprobs?: number | undefined
    }
  }
}

/** For how many tokens temperature and forbidden tokens of a sample stay the same. */
function steady({ response, requestState: { sampling } }: MultiStepCandidate): number {
  if (response.length === 0 && sampling.firstTemperature !== sampling.temperature) return 1
  return response.length < sampling.minNewTokens ? sampling.minNewTokens - response.length : Number.POSITIVE_INFINITY
}

/**
 * Plans steps for samples with one row each; undefined where a sample needs more of the likeliest tokens than `most.top`. Tokens after the end
 * of a response are wasted, so there are no more steps than the longest budget.
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

/** Whether rope, cache and random numbers use the same position in every row: multi-step decoding counts only one position. */
export function hasOnePosition({ ropePositions, kvPositions, samplingRows }: StepBatch): boolean {
  for (let row = 0; row < samplingRows.count; row++) {
    const position = kvPositions[row]
    if (ropePositions[row] !== position || samplingRows.streams[3 * row + 2] !== position) return false
  }
  return true
}
