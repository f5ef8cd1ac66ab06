import type { LabelledLoss, LabelledLossDefinition, PreferenceLossDefinition } from '../../maths/index.js'
import { checkDefinitions } from '../config/definitions.js'
import type { JobOptions, JobResult } from '../run/job.js'
import type { SupervisedKind } from '../supervised/example-digest.js'
import { runSupervised, type SupervisedParts } from '../supervised/job.js'
import { lossOf, lossOptionsOf, type PreferenceConfig } from './config.js'
import { ktoLoop } from './kto-loop.js'
import { preferenceLoop } from './loop.js'
import { referencePass } from './reference-pass.js'
import { labelledResponses, mismatchedResponses, pairResponses } from './responses.js'

const trainer = {
  command: 'preference',
  role: 'language',
  bestBy: { metric: 'loss/validation', better: 'lower' },
} as const

/**
 * Preference training from a config to `best_model` and `final_model` in the run directory. The reference scores all answers
 * once, before the first step; the results are kept in the run.
 */
export async function runPreference(job: JobOptions<PreferenceConfig>): Promise<JobResult> {
  checkDefinitions(job.config)
  const loss = lossOf(job.config)
  return loss.kind === 'labelled' ? runLabelled(job, loss) : runPairs(job, loss)
}

/** What its rows are. */
export const preferenceKind = (config: PreferenceConfig) =>
  lossOf(config).kind === 'labelled' ? 'labelled' : 'preferences'

function runPairs(job: JobOptions<PreferenceConfig>, definition: PreferenceLossDefinition): Promise<JobResult> {
  return runSupervised(job, {
    ...trainer,
    reference: job.config.reference,
    kind: 'preferences',
    shown: ['loss/train', 'preference/margin', 'preference/accuracy', 'speed/tokens_per_second'],
    loop: async parts => {
      const { config, model, training, validation } = parts
      const reference = await referencePass<'preferences'>({
        ...passOver(parts),
        responses: pairResponses,
        span: everyRowEachEpoch(config) ? 'epoch' : 'all',
      })
      const loss = { ...lossOptionsOf(config), loss: definition }
      await preferenceLoop({ model, reference, training, validation, loss, signal: job.signal })
    },
  })
}

function runLabelled(job: JobOptions<PreferenceConfig>, definition: LabelledLossDefinition): Promise<JobResult> {
  return runSupervised(job, {
    ...trainer,
    reference: job.config.reference,
    kind: 'labelled',
    shown: ['loss/train', 'preference/margin', 'preference/kl', 'speed/tokens_per_second'],
    loop: async parts => {
      const { config, model, training, validation } = parts
      const { maxLength = model.maxLength } = config
      const reference = await referencePass<'labelled'>({
        ...passOver(parts),
        responses: batch => [...labelledResponses(batch), ...mismatchedResponses(batch, maxLength)],
        span: 'all',
      })
      const options = lossOptionsOf(config)
      const loss: LabelledLoss = call => definition.compute({ ...call, options })
      await ktoLoop({ model, reference, training, validation, loss, maxLength, signal: job.signal })
    },
  })
}

/** The rows of a training that its reference scores, and what they depend on. */
function passOver<K extends SupervisedKind>(parts: SupervisedParts<PreferenceConfig, K, 'language'>) {
  const { config, run, model, dataset, tokenizer, training, validation, job } = parts
  return {
    ...{ config, directory: run.directory, inputs: run.inputs, policy: model, step: training.step, validation, job },
    fingerprints: dataset.fingerprints,
    rows: dataset.train(tokenizer),
  }
}

/** Where a source is visited in part, another epoch visits another part of it. */
function everyRowEachEpoch({ data }: PreferenceConfig): boolean {
  const sources = Array.isArray(data) ? data : [data]
  return sources.every(source => typeof source === 'string' || (source.weight ?? 1) >= 1)
}
