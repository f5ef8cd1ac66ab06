/** One stage as its command would run it, from the config in its file. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Report } from '../progress/index.js'
import { fileLayer, type JobResult, type RawConfig, type Training, trainings } from '../train/index.js'
import type { Stage } from './stage-configs.js'

interface StageOptions {
  /** The demo's directory. */
  readonly directory: string
  readonly values: RawConfig
  readonly report: Report
  readonly signal: AbortSignal
}

export async function runStage(stage: Stage, { directory, values, report, signal }: StageOptions): Promise<JobResult> {
  const file = join(directory, `${stage}.json`)
  await writeFile(file, `${JSON.stringify(values, undefined, 2)}\n`)
  const training: Training = trainings[stage === 'sft' || stage === 'reward' ? stage : 'rl']
  const resolved = training.resolve([fileLayer(file, values)])
  const result = await training.run({ ...resolved, resume: false, allowChange: [], report, signal })
  signal.throwIfAborted()
  return result
}
