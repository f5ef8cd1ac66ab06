/** Preferences: against the reference, what was chosen becomes likelier. */
import { describe, expect, test } from 'vitest'
import { preferenceSchema } from '../../../src/train/preference/config.js'
import { runPreference } from '../../../src/train/preference/job.js'
import { answerPairs, labelledAnswers, type Pair, shuffledLabels } from '../../support/answers.js'
import { fresh, jsonl } from '../../support/files.js'
import { jobOf } from '../../support/supervised.js'
import { modelDirectory } from '../../support/tiny-model.js'

describe.each(['dpo', 'kto'] as const)('%s raises the margin of held-out pairs', loss => {
  // Of implicit rewards, beta times the log-ratio to the reference: at the reference it is 0.
  const margin = 0.5
  const rowsOf = (pairs: readonly Pair[]) => jsonl(loss === 'kto' ? labelledAnswers(pairs) : pairs)
  const held = async (seed: number, rows: typeof shuffledLabels) => {
    const config = preferenceSchema.parse({
      output: fresh('run'),
      batchSize: 20,
      saveSteps: 1000,
      model: await modelDirectory(seed),
      data: rowsOf(rows(answerPairs(100, seed))),
      validationData: rowsOf(answerPairs(40, seed + 100)),
      loss,
      epochs: 3,
      evalSteps: 1000,
      optimizer: { lr: 2e-3 },
      seed,
    })
    const { metrics } = await runPreference(jobOf(config))
    return metrics['validation/margin']!
  }

  test.each([1, 2, 3])(`seed %i: above ${margin}`, async seed => {
    expect(await held(seed, pairs => [...pairs])).toBeGreaterThan(margin)
  })

  test('control: with labels that say nothing it does not', async () => {
    expect(await held(1, shuffledLabels)).toBeLessThan(margin)
  })
})
