/** A rollout that cannot go on. What it finished is in the journal. */
import { type ErrorCode, WhetstoneError } from '../errors/index.js'
import type { FailedReward } from '../reward/index.js'

export { EngineLostError } from '../rollout/index.js'

/** Every episode of a round failed. */
export class EnvironmentLostError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_ENVIRONMENT_LOST'
  override readonly name = 'EnvironmentLostError'

  constructor(faults: readonly string[]) {
    super(`no episode ended: all ${faults.length} failed. The first: ${faults[0]}`, {
      remedy:
        'Fix the environment or its tools, then resume with --resume (and --allow-change environment if its file changed): finished episodes are kept, and failed ones start again.',
    })
  }
}

/** No sample of a round got a reward. What was generated is in the journal. */
export class RewardsLostError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_REWARDS_LOST'
  override readonly name = 'RewardsLostError'

  constructor(failures: readonly FailedReward[]) {
    const { source, reason, message } = failures[0]!
    super(
      `no sample has a reward: all ${failures.length} failed. The first: reward "${source}" (${reason}): ${message}`,
      {
        remedy:
          'Fix the reward or its server, then resume with --resume (and --allow-change rewards if a reward file changed): the run keeps the samples and computes their rewards again.',
      },
    )
  }
}
