import { rewardModelSchema } from '../../../src/train/reward-model/config.js'
import { runRewardModel } from '../../../src/train/reward-model/job.js'
import { answerPairs, type shuffledLabels } from '../../support/answers.js'
import { fresh, jsonl } from '../../support/files.js'
import { jobOf } from '../../support/supervised.js'
import { modelDirectory } from '../../support/tiny-model.js'

/** A reward model ranks more of the held-out pairs than this. */
export const margin = 0.95

/** The share of held-out pairs that a reward model ranks right when it was trained on others, as `labels` says. */
export async function heldAccuracy(seed: number, labels?: typeof shuffledLabels): Promise<number> {
  const pairs = answerPairs(120, seed)
  const config = rewardModelSchema.parse({
    output: fresh('run'),
    saveSteps: 1000,
    batchSize: 20,
    model: await modelDirectory(seed),
    data: jsonl(labels ? labels(pairs) : pairs),
    validationData: jsonl(answerPairs(100, seed + 100)),
    epochs: 4,
    evalSteps: 1000,
    optimizer: { lr: 3e-3 },
    seed,
  })
  const { metrics } = await runRewardModel(jobOf(config))
  return metrics['validation/accuracy']!
}
