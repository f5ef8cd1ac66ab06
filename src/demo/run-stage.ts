/** One stage as its command would run it, from the config in its file. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Report } from '../progress/index.js'
import {
  fileLayer,
  type JobResult,
  type RawConfig,
  resolveConfig,
  resolveRlConfig,
  rewardModelSchema,
  runRewardModel,
  runRl,
  runSft,
  sftSchema,
  supervisedPaths,
  supervisedWords,
} from '../train/index.js'
import type { Stage } from './stage-configs.js'

export interface StageOptions {
  /** The demo's directory. */
  readonly directory: string
  readonly values: RawConfig
  readonly report: Report
  readonly signal: AbortSignal
}

export async function runStage(stage: Stage, { directory, values, report, signal }: StageOptions): Promise<JobResult> {
  const file = join(directory, `${stage}.json`)
  await writeFile(file, `${JSON.stringify(values, undefined, 2)}\n`)
  const layers = [fileLayer(file, values)]
  const job = { resume: false, allowChange: [], report, signal }
  const result = await train()
  signal.throwIfAborted()
  return result

  function train(): Promise<JobResult> {
    if (stage === 'sft')
      return runSft({ ...job, ...resolveConfig(sftSchema, layers, { paths: supervisedPaths, words: supervisedWords }) })
    if (stage === 'reward')
      return runRewardModel({
        ...job,
        ...resolveConfig(rewardModelSchema, layers, { paths: supervisedPaths, words: supervisedWords }),
      })
    return runRl({ ...job, ...resolveRlConfig(layers) })
  }
}
