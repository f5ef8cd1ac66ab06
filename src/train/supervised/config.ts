/** What trainings on a dataset's rows share in their configs. */
import { z } from 'zod'
import { dataOptionsShape, dataSchema } from '../../data/index.js'
import { type DeviceChoice, devicesProblem } from '../../distributed/index.js'
import { chatTemplateWords } from '../../text/index.js'
import { epochShape, harmlessKeys, keepProblem, modelShape, type OptimizerConfig, runShape } from '../config/common.js'

const { trainOn: _, ...rowOptionsShape } = dataOptionsShape

export const supervisedShape = {
  ...modelShape,
  data: dataSchema.describe('training data: a file or a glob pattern, a source with settings, or a list of these'),
  ...rowOptionsShape,
  ...epochShape,
  ...runShape,
}

/** Options that name files or directories; those in a config file are relative to it. */
export const supervisedPaths: readonly string[] = [
  'model',
  'adapter',
  'output',
  'data',
  'data.path',
  'validationData',
  'validationData.path',
  'chatTemplate',
]
/** Values of path options that are no paths. */
export const supervisedWords: readonly string[] = chatTemplateWords

const supervisedSchema = z.object(supervisedShape)
export type SupervisedConfig = z.output<typeof supervisedSchema> & { readonly optimizer: OptimizerConfig }

/** Contradicting options. */
export function refuseContradictions(
  config: DeviceChoice & { keep: string; lora?: unknown; adapter?: unknown; freezeBackbone?: boolean },
  context: z.RefinementCtx,
): void {
  const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
  if (config.lora !== undefined && config.adapter !== undefined)
    refuse('adapter', 'adapter continues an existing adapter and lora makes a new one; give only one of them')
  const keep = keepProblem(config)
  if (keep !== undefined) refuse('keep', keep)
  const devices = devicesProblem(config)
  if (devices !== undefined) refuse('devices', devices)
  if (config.freezeBackbone === true && (config.lora !== undefined || config.adapter !== undefined))
    refuse('freezeBackbone', 'trains only the head and cannot be combined with an adapter')
}

/** Options that a resumed run may change. The number of steps affects the learning rate if a schedule depends on it. */
export function harmlessFor({ schedule, warmupSteps, warmupRatio }: OptimizerConfig): readonly string[] {
  const spread = schedule !== 'constant' || (warmupSteps === undefined && warmupRatio > 0)
  const keys = [...harmlessKeys, 'evalSteps']
  return spread ? keys.filter(key => key !== 'maxSteps') : keys
}
