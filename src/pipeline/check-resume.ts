/** Checks the inputs of stages to resume before an earlier stage runs for hours. */
import type { CheckedStage } from './check-stages.js'
import type { PipelineConfig } from './config.js'
import { type PipelineExtensions, stageFunctions } from './extensions.js'
import { areAllowed, changedError, stageChanges } from './stage-changes.js'
import { knownInputs } from './stage-inputs.js'
import { changedInputs, readStageRecord } from './stage-record.js'
import { givenOrMade, stageDirectory, usesRewardModel } from './stages.js'

export async function checkResume(
  checked: readonly CheckedStage[],
  {
    config,
    extensions,
    allowChange,
  }: { config: PipelineConfig; extensions: PipelineExtensions; allowChange: readonly string[] },
): Promise<void> {
  for (const { stage, resolved, data } of checked) {
    const directory = stageDirectory(config, stage)
    const record = await readStageRecord(directory)
    if (record?.status !== 'started') continue
    // The length of its sequences is known once it is made.
    if (stage === 'reward' && extensions.createRewardModel) continue
    const rewardModel = stage === 'ppo' && usesRewardModel(config) ? givenOrMade(config, 'reward') : undefined
    const functions = stageFunctions(stage, extensions)
    const { models: _, ...before } = record.inputs
    const now = await knownInputs(resolved, { data, rewardModel, functions })
    const changes = stageChanges(stage, resolved.training, changedInputs(before, now))
    if (!areAllowed(changes, allowChange)) throw changedError(directory, changes)
  }
}
