/** One optimiser step of the policy, and one of the critic, over some samples of a rollout. */
import type { ConversationExample } from '../../data/index.js'
import type { Experience } from '../../experience/index.js'
import {
  alteredTokens,
  mergePolicyStatistics,
  mergeValueStatistics,
  type ObjectiveOptions,
  type ObjectiveSample,
  objective,
  type PolicyStatistics,
  sftLoss,
  tokenTotals,
  type ValueStatistics,
  valueLoss,
} from '../../maths/index.js'
import type { Outputs, TokenModel, TrainStepOptions } from '../../model/index.js'
import { trainedCount } from '../../sequence/index.js'
import { namingRows, type TrainingRow } from '../run/errors.js'
import { type MadeStep, untilStepped } from '../run/optimizer-step.js'
import { turnLengths } from './engine-gap.js'
import { comparableLogprobs } from './engine-logprobs.js'

export interface PolicyUpdateOptions {
  readonly actor: TokenModel<'language'>
  readonly experiences: readonly Experience[]
  readonly objective: ObjectiveOptions
  /** Supervised examples whose loss is added. Default: none. */
  readonly ptx?:
    | { readonly examples: readonly Pick<ConversationExample, 'sequence'>[]; readonly coef: number }
    | undefined
  /** How the tokens were sampled; needed with `tisCap`. */
  readonly sampling?: {
    readonly temperature: number
    readonly firstTemperature?: number
    readonly minNewTokens: number
  }
  /** Learning rate and AdamW options of the step. */
  readonly rates: TrainStepOptions
  /** `off`: pad sequences to a rectangle. The numbers are the same. Default `on`. */
  readonly packing?: 'on' | 'off'
  /** No step is made when the policy has moved further than this from the one that sampled. Default: always a step. */
  readonly targetKl?: number | undefined
  /** Looks at the policy's log-probabilities before a weight changes; what it throws ends the update. */
  readonly beforeStep?: ((logprobs: readonly Float32Array[]) => void) | undefined
  /** Told how many samples have been computed. */
  readonly onSamples?: ((done: number) => void) | undefined
}

export interface PolicyUpdate {
  readonly loss: number
  readonly policy: number
  readonly kl: number | undefined
  /** Mean over tokens. */
  readonly entropy: number | undefined
  readonly ptx: number | undefined
  readonly statistics: PolicyStatistics
  /**
   * Log-probabilities of the policy before this step, per sample in the given order: for the first step of a rollout they stand
   * for the old ones.
   */
  readonly logprobs: readonly Float32Array[]
  /** Of the same policy; undefined where they were not computed. */
  readonly entropies: readonly (Float32Array | undefined)[]
  /** Undefined where `targetKl` forbade it. */
  readonly step: MadeStep | undefined
}

/**
 * One step, or none where `targetKl` forbids it. What is not finite stops it before a weight changes, and names its sample.
 *
 * @example
 * async function learn(actor: LocalModel<'language'>, { experiences }: ExperienceBatch): Promise<void> {
 *   const { loss } = await updatePolicy({ actor, experiences, objective: { loss: 'ppo' }, rates: { lr: 1e-6 } })
 *   console.log(loss)
 * }
 */
export function updatePolicy(options: PolicyUpdateOptions): Promise<PolicyUpdate> {
  return namingRows(options.experiences.map(named), () => untilStepped(overflows => policyStep(options, overflows)))
}

async function policyStep(options: PolicyUpdateOptions, overflows: number): Promise<PolicyUpdate> {
  const { actor, experiences, ptx, rates, targetKl } = options
  const objectiveOptions = withoutMaskedFilter(options.objective, experiences)
  const totals = tokenTotals(experiences.map(({ sequence }) => trainedCount(sequence)))
  const temperature = experiences[0]!.temperature
  const entropy =
    actor.capabilities.entropy &&
    ((objectiveOptions.entropyCoef ?? 0) > 0 ||
      (objectiveOptions.highEntropyTokenRatio ?? 0) > 0 ||
      measuresEntropy(experiences))
  const logprobs = new Array<Float32Array>(experiences.length)
  const entropies = new Array<Float32Array | undefined>(experiences.length)
  const sums = { value: 0, policy: 0, kl: 0, entropy: 0 }
  let hasKl = false
  let done = 0
  const statistics: PolicyStatistics[] = []
  await actor.forwardBackward(
    experiences.map(({ sequence }) => sequence),
    (outputs, indices) => {
      const samples = outputs.map((output, k) => objectiveSample(experiences[indices[k]!]!, output, options))
      const result = objective({ samples, totals, options: objectiveOptions })
      for (const [k, index] of indices.entries()) {
        logprobs[index] = outputs[k]!.logprobs
        entropies[index] = outputs[k]!.entropies
      }
      done += indices.length
      options.onSamples?.(done)
      sums.value += result.value
      sums.policy += result.policy
      sums.kl += result.kl ?? 0
      hasKl ||= result.kl !== undefined
      for (const output of outputs) for (const one of output.entropies ?? []) sums.entropy += one
      statistics.push(result.statistics)
      return result.gradients.map(({ logprobs: gradient, entropies }) => ({
        logprobs: Float32Array.from(gradient),
        ...(entropies ? { entropies: Float32Array.from(entropies) } : {}),
      }))
    },
    { temperature, entropy, packing: options.packing ?? 'on' },
  )
  options.beforeStep?.(logprobs)
  const merged = mergePolicyStatistics(statistics)
  const stopped = targetKl !== undefined && merged.approxKl > targetKl
  const ptxValue = ptx && !stopped ? await addPtx(actor, ptx) : undefined
  if (stopped) actor.zeroGrad()
  return {
    loss: sums.value + (ptx && ptxValue !== undefined ? ptx.coef * ptxValue : 0),
    policy: sums.policy,
    kl: hasKl ? sums.kl : undefined,
    entropy: entropy ? sums.entropy / totals.tokens : undefined,
    ptx: ptxValue,
    statistics: merged,
    logprobs,
    entropies,
    step: stopped ? undefined : { ...(await actor.step(rates)), overflows },
  }
}

/** A scored rollout already has its mask of high-entropy tokens from the sampling policy: the objective must not choose again. */
function withoutMaskedFilter(options: ObjectiveOptions, experiences: readonly Experience[]): ObjectiveOptions {
  return experiences.some(hasMask) ? { ...options, highEntropyTokenRatio: 0 } : options
}

/** Without entropies the mask of an experience keeps everything, and says nothing. */
function hasMask({ entropies }: Experience): boolean {
  return entropies !== undefined
}

/** Entropies cost a pass over all logits: they are measured here where the rollout was not scored. */
function measuresEntropy(experiences: readonly Experience[]): boolean {
  return experiences[0]!.logprobs === undefined
}

/** Adds the gradient of the supervised rows' loss. Gives its value, before the coefficient. */
async function addPtx(
  actor: TokenModel<'language'>,
  { examples, coef }: NonNullable<PolicyUpdateOptions['ptx']>,
): Promise<number> {
  const sequences = examples.map(({ sequence }) => sequence)
  const totals = tokenTotals(sequences.map(trainedCount))
  let value = 0
  await actor.forwardBackward(sequences, samples => {
    const result = sftLoss({ samples, totals })
    value += result.value
    return result.gradients.map(({ logprobs }) => ({ logprobs: Float32Array.from(logprobs, g => coef * g) }))
  })
  return value
}

function objectiveSample(
  one: Experience,
  { logprobs, entropies }: Outputs['language'],
  { objective: { tisCap }, sampling }: PolicyUpdateOptions,
): ObjectiveSample {
  return {
    name: named(one).where,
    logprobs,
    oldLogprobs: one.logprobs,
    advantages: one.advantages,
    refLogprobs: one.refLogprobs,
    ...(entropies ? { entropies } : {}),
    ...(hasMask(one) ? { lossMask: one.lossMask } : {}),
    ...(tisCap == null || !sampling
      ? {}
      : {
          engineLogprobs: comparableLogprobs(one.engineLogprobs, sampling.temperature),
          altered: alteredTokens({ length: trainedCount(one.sequence), turns: turnLengths(one), ...sampling }),
        }),
  }
}

export interface CriticUpdateOptions {
  readonly critic: TokenModel<'value'>
  readonly experiences: readonly Experience[]
  readonly valueClip: number | null
  /** As the policy's. */
  readonly aggregation: NonNullable<ObjectiveOptions['aggregation']>
  readonly maxNewTokens: number
  readonly rates: TrainStepOptions
  /** Default `on`. */
  readonly packing?: 'on' | 'off'
  /** Told how many samples have been computed. */
  readonly onSamples?: ((done: number) => void) | undefined
}

export interface CriticUpdate {
  readonly loss: number
  readonly statistics: ValueStatistics
  readonly step: MadeStep
}

export function updateCritic(options: CriticUpdateOptions): Promise<CriticUpdate> {
  return namingRows(options.experiences.map(named), () => untilStepped(overflows => criticStep(options, overflows)))
}

async function criticStep(options: CriticUpdateOptions, overflows: number): Promise<CriticUpdate> {
  const { critic, experiences, valueClip, aggregation, maxNewTokens, rates } = options
  const totals = tokenTotals(experiences.map(({ sequence }) => trainedCount(sequence)))
  const statistics: ValueStatistics[] = []
  let [loss, done] = [0, 0]
  await critic.forwardBackward(
    experiences.map(({ sequence }) => sequence),
    (outputs, indices) => {
      const samples = outputs.map(({ values }, k) => {
        const one = experiences[indices[k]!]!
        return { name: named(one).where, values, oldValues: one.values, returns: one.returns }
      })
      const result = valueLoss({ samples, totals, options: { valueClip, aggregation, maxNewTokens } })
      loss += result.value
      done += indices.length
      options.onSamples?.(done)
      statistics.push(result.statistics)
      return result.gradients.map(({ values }) => ({ values: Float32Array.from(values) }))
    },
    { packing: options.packing ?? 'on' },
  )
  const step = { ...(await critic.step(rates)), overflows }
  return { loss, statistics: mergeValueStatistics(statistics), step }
}

/** A sample as errors name it. */
function named({ sequence, sample }: Experience): TrainingRow {
  return { where: `prompt ${sequence.promptId}, sample ${sample}`, sequence }
}
