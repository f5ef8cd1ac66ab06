import { type ErrorCode, WhetstoneError } from '../../errors/index.js'
import type { ResolvedAdvantageOptions } from './advantage-options.js'
import { comparesSamples, estimatorOf } from './estimators.js'
import { type Group, groupsOf, usualGroupSize } from './groups.js'
import type { RolloutTurn } from './turns.js'

/** What the steps from reward to advantage read of a sample. Arrays have one number per sampled response token. */
export interface RolloutSample {
  /** The prompt it answers; group estimators compare the samples of one. */
  readonly promptId?: Group['promptId'] | undefined
  /** The raw reward. */
  readonly reward: number
  /** Tokens that were sampled, the end of sequence included. */
  readonly length: number
  /** Of the policy that sampled; needed where KL is measured. */
  readonly logprobs?: ArrayLike<number> | undefined
  /** Of the reference model: all samples have them, or none. */
  readonly refLogprobs?: ArrayLike<number> | undefined
  /** Of the critic; needed by `gae` and its like. */
  readonly values?: ArrayLike<number> | undefined
  /** The turns of an episode. Default: the response is one turn. */
  readonly turns?: readonly RolloutTurn[] | undefined
}

/** A problem of one sample, to print after its number and field. */
export interface SampleProblem {
  readonly sample: number
  readonly field: keyof RolloutSample
  readonly message: string
}

/** Advantages cannot be computed for this rollout. Nothing was computed. */
export class RolloutError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_SAMPLES'
  override readonly name = 'RolloutError'
  declare readonly problems: readonly SampleProblem[]

  constructor(problems: readonly SampleProblem[]) {
    const shown = problems.slice(0, 10).map(({ sample, field, message }) => `sample ${sample}: ${field}: ${message}`)
    const more = problems.length > shown.length ? [`and ${problems.length - shown.length} more`] : []
    super([...shown, ...more].join('\n'), { problems })
  }
}

/** All problems of a rollout under the options; empty if there are none. */
export function rolloutProblems(samples: readonly RolloutSample[], options: ResolvedAdvantageOptions): SampleProblem[] {
  const needs = needsOf(samples, options)
  return [
    ...samples.flatMap((sample, place) => sampleProblems(sample, place, needs)),
    ...groupProblems(samples, options),
  ]
}

/** Why a field cannot be left out; undefined where it can. */
type Needs = Partial<Record<'logprobs' | 'refLogprobs' | 'values' | 'promptId', string>>

function needsOf(samples: readonly RolloutSample[], options: ResolvedAdvantageOptions): Needs {
  const { klCoef, useKlLoss } = options
  const { name, values, compares } = estimatorOf(options.advantageEstimator)
  const needs: Needs = {}
  if (samples.some(({ refLogprobs }) => refLogprobs)) {
    needs.logprobs = 'KL to the reference needs them'
    needs.refLogprobs = 'other samples have them'
  } else if (klCoef && !useKlLoss) needs.refLogprobs = `klCoef ${klCoef} needs them; with klCoef 0 there is no KL`
  if (values === 'needed') needs.values = `${name} needs the values of a critic`
  if (compares === 'samples of a prompt') needs.promptId = `${name} compares the samples of a group`
  return needs
}

const tokenFields = ['logprobs', 'refLogprobs', 'values'] as const

function sampleProblems(sample: RolloutSample, place: number, needs: Needs): SampleProblem[] {
  const problems: SampleProblem[] = []
  const add = (field: keyof RolloutSample, message: string) => problems.push({ sample: place, field, message })
  if (!Number.isFinite(sample.reward)) add('reward', `expected a finite number, got ${sample.reward}`)
  if (!Number.isSafeInteger(sample.length) || sample.length < 1)
    add('length', `expected at least one token, got ${sample.length}`)
  if (sample.promptId === undefined && needs.promptId) add('promptId', `missing; ${needs.promptId}`)
  const counted = sample.turns?.reduce((sum, turn) => sum + turn.length, 0) ?? sample.length
  if (counted !== sample.length) add('turns', `they have ${counted} tokens, and the sample has ${sample.length}`)
  const wrong = sample.turns?.find(({ reward = 0 }) => !Number.isFinite(reward))
  if (wrong) add('turns', `expected finite rewards, got ${wrong.reward}`)
  for (const field of tokenFields) {
    const values = sample[field]
    if (!values) {
      if (needs[field]) add(field, `missing; ${needs[field]}`)
    } else if (values.length !== sample.length) {
      add(field, `expected ${sample.length} numbers, one per token, got ${values.length}`)
    } else {
      const bad = firstNonFinite(values)
      if (bad >= 0) add(field, `expected finite numbers, got ${values[bad]} at token ${bad}`)
    }
  }
  return problems
}

/** -1 where all are finite. */
export function firstNonFinite(values: ArrayLike<number>): number {
  for (let t = 0; t < values.length; t++) if (!Number.isFinite(values[t])) return t
  return -1
}

function groupProblems(samples: readonly RolloutSample[], options: ResolvedAdvantageOptions): SampleProblem[] {
  const { advantageEstimator, nSamplesPerPrompt } = options
  if (!comparesSamples(advantageEstimator)) return []
  const { name: estimator } = estimatorOf(advantageEstimator)
  const groups = groupsOf(samples)
  const size = nSamplesPerPrompt ?? usualGroupSize(groups)
  const problems: SampleProblem[] = []
  for (const { promptId, places } of groups) {
    const one = `${JSON.stringify(promptId)} has ${places.length === 1 ? '1 sample' : `${places.length} samples`}`
    if (places.length < 2)
      problems.push({ sample: places[0]!, field: 'promptId', message: `${one}; ${estimator} needs at least 2` })
    else if (places.length !== size)
      problems.push({
        sample: places[0]!,
        field: 'promptId',
        message: `${one}, expected ${size} as ${nSamplesPerPrompt === undefined ? 'in the other groups' : 'nSamplesPerPrompt says'}; complete the group, or remove all its samples`,
      })
  }
  return problems
}
