/** The numbers of one iteration, by the names of the metrics' table. Pure. */
import type { Experience, ExperienceBatch } from '../../experience/index.js'
import { explainedVariance, meanKl, mergePolicyStatistics, type PolicyStatistics } from '../../maths/index.js'
import { promptLength } from '../../sequence/index.js'
import { stepMetrics } from '../run/optimizer-step.js'
import type { RlConfig } from './config.js'
import { engineGap } from './engine-gap.js'
import { episodeMetrics } from './episode-metrics.js'
import { referenceKl } from './reference-kl.js'
import type { CriticUpdate, PolicyUpdate } from './update.js'

/** What an optimiser step gave. Plain JSON, to survive an interruption within an iteration. */
export type UpdateSummary =
  | {
      readonly model: 'policy'
      readonly outcome: 'done' | 'stopped'
      readonly losses: Readonly<Record<string, number>>
      readonly statistics: PolicyStatistics
    }
  | { readonly model: 'critic'; readonly outcome: 'done'; readonly losses: Readonly<Record<string, number>> }

/** Metrics of the table at the end of a run, and which of their values is best. */
export const summarizedMetrics = {
  'validation/reward': 'higher',
  'reward/mean': 'higher',
  'kl/mean': 'neither',
  'entropy/mean': 'neither',
  'length/mean': 'neither',
  'length/truncated': 'neither',
  'value/explained_variance': 'higher',
  'gap/mean': 'neither',
  'speed/tokens_per_second': 'neither',
  'seconds/total': 'neither',
} as const

/** Optimiser steps that were made. */
export function doneBy(updates: readonly UpdateSummary[], model: UpdateSummary['model']): number {
  return updates.filter(update => update.model === model && update.outcome === 'done').length
}

/** Whether the policy moved too far for more updates of this rollout. */
export function haltedBy(updates: readonly UpdateSummary[], { model }: Pick<UpdateSummary, 'model'>): boolean {
  return updates.some(update => update.model === model && update.outcome === 'stopped')
}

export async function policySummary(update: PolicyUpdate, lr: number): Promise<UpdateSummary> {
  const { loss, policy, kl, entropy, ptx, statistics, step } = update
  return {
    model: 'policy',
    outcome: step ? 'done' : 'stopped',
    statistics,
    losses: known({
      'loss/train': loss,
      'policy/loss': policy,
      'kl/loss': kl,
      'entropy/mean': entropy,
      'loss/ptx': ptx,
      lr: step && lr,
      ...(step && (await stepMetrics(step))),
    }),
  }
}

export async function criticSummary({ loss, statistics, step }: CriticUpdate, lr: number): Promise<UpdateSummary> {
  return {
    model: 'critic',
    outcome: 'done',
    losses: known({
      'value/loss': loss,
      'value/clip': statistics.clipShare,
      'grad/critic_norm': step.norm,
      'weights/critic_changed': await step.changed,
      'lr/critic': lr,
    }),
  }
}

interface IterationNumbers {
  readonly batch: ExperienceBatch
  readonly updates: readonly UpdateSummary[]
  readonly klCoef: number
  /** Of the policy that sampled: the rollout's, or the first step's where the rollout was not scored. */
  readonly logprobs: readonly (Float32Array | undefined)[]
  readonly config: RlConfig
  /** Optimiser steps behind the policy when the updates began. */
  readonly policyVersion: number
  readonly reused: number
  readonly epoch: number
  readonly seconds: Readonly<Record<string, number>>
}

export function iterationMetrics(numbers: IterationNumbers): Record<string, number> {
  const { batch, updates, klCoef, policyVersion, reused, epoch, seconds } = numbers
  const { experiences, info } = batch
  const policy = updates.filter(update => update.model === 'policy')
  const done = updates.filter(({ outcome }) => outcome === 'done')
  const total = Object.values(seconds).reduce((a, b) => a + b, 0)
  return known({
    'reward/mean': info.reward?.mean,
    'reward/std': deviation(experiences.map(({ reward }) => reward)),
    'reward/min': info.reward?.min,
    'reward/max': info.reward?.max,
    'reward/shaped': info.shapedReward?.mean,
    ...named('reward/component/', info.components),
    ...named('reward/metric/', info.metrics),
    'kl/mean': info.kl ?? measuredKl(numbers)?.kl,
    'kl/coef': klCoef,
    'entropy/mean': info.entropy,
    ...means(updates),
    ...(policy.length > 0 ? ratios(mergePolicyStatistics(policy.map(({ statistics }) => statistics))) : {}),
    'policy/updates': done.filter(({ model }) => model === 'policy').length,
    'advantage/mean': info.advantages?.mean,
    'advantage/std': info.advantages?.std,
    ...values(experiences),
    ...episodeMetrics(experiences),
    'length/mean': info.responseLength?.mean,
    'length/max': info.responseLength?.max,
    'length/prompt': mean(experiences.map(({ sequence }) => promptLength(sequence))),
    'length/truncated': info.truncatedShare,
    'prompts/cut': info.promptsCut,
    'prompts/left_out': info.promptsLeftOut,
    // The variance of a group of one sample means nothing.
    'groups/zero_variance':
      info.groups && info.groups.count < experiences.length ? info.groups.zeroVarianceShare : undefined,
    'groups/rounds': info.rounds,
    'samples/trained': experiences.length,
    'samples/reused': reused,
    ...named('drops/', info.drops),
    ...named('repairs/', info.repairs),
    ...gap(numbers),
    'staleness/mean': mean(experiences.map(one => policyVersion - one.policyVersion)),
    'data/epoch': epoch,
    'speed/tokens_per_second': total > 0 ? info.tokens / total : 0,
    ...named('seconds/', { ...seconds, total }),
  })
}

/** KL as the controller sees it, of log-probabilities that training computed; undefined without a reference. */
export function measuredKl({ batch, logprobs, config }: Pick<IterationNumbers, 'batch' | 'logprobs' | 'config'>) {
  const kls = batch.experiences.flatMap(
    ({ refLogprobs }, i) => referenceKl({ logprobs: logprobs[i], refLogprobs }, config) ?? [],
  )
  return kls.length === 0 ? undefined : { kl: meanKl(kls), samples: kls.length }
}

function ratios(statistics: PolicyStatistics): Record<string, number | undefined> {
  return {
    'policy/clip_low': statistics.clipLowShare,
    'policy/clip_high': statistics.clipHighShare,
    'policy/dual_clip': statistics.dualClipShare,
    'policy/ratio_mean': statistics.ratioMean,
    'policy/ratio_max': statistics.ratioMax,
    'policy/approx_kl': statistics.approxKl,
    'policy/importance_mean': statistics.importanceMean,
    'policy/importance_truncated': statistics.importanceCappedShare,
    'policy/tokens_kept': statistics.tokens === 0 ? undefined : statistics.keptTokens / statistics.tokens,
  }
}

function values(experiences: readonly Experience[]): Record<string, number | undefined> {
  const valued = experiences.flatMap(({ values, returns }) => (values ? [{ values, returns }] : []))
  if (valued.length === 0) return {}
  const tokens = valued.reduce((sum, one) => sum + one.values.length, 0)
  const sum = valued.reduce((all, one) => all + one.values.reduce((a, b) => a + b, 0), 0)
  return { 'value/mean': sum / tokens, 'value/explained_variance': explainedVariance(valued) }
}

function gap({ batch, logprobs, config }: IterationNumbers): Record<string, number> {
  const found = engineGap({ experiences: batch.experiences, logprobs, config })
  return found ? { 'gap/mean': found.mean, 'gap/max': found.max } : {}
}

/** The mean of each over the updates that have it. */
function means(updates: readonly UpdateSummary[]): Record<string, number | undefined> {
  const names = new Set(updates.flatMap(({ losses }) => Object.keys(losses)))
  return Object.fromEntries(
    [...names].map(name => [
      name,
      mean(updates.flatMap(({ losses }) => (losses[name] === undefined ? [] : [losses[name]]))),
    ]),
  )
}

function mean(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((a, b) => a + b, 0) / values.length
}

function deviation(values: readonly number[]): number | undefined {
  const middle = mean(values)
  return middle === undefined ? undefined : Math.sqrt(mean(values.map(value => (value - middle) ** 2))!)
}

function named(prefix: string, values: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}${name}`, value]))
}

function known(values: Readonly<Record<string, number | undefined>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(values).filter(
      (entry): entry is [string, number] => entry[1] !== undefined && Number.isFinite(entry[1]),
    ),
  )
}
