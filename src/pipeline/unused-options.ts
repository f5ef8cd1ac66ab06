/** Given options that no stage of the pipeline reads; the user gets a warning. */
import { isDeepStrictEqual } from 'node:util'
import type { ResolvedConfig } from '../train/index.js'
import { getDefaultConfig, type PipelineConfig } from './config.js'
import { optionNames, usedNames } from './stage-configs.js'
import { wholePipeline } from './stages.js'

/**
 * Names of options with a non-default value that belong to skipped stages or to another algorithm. Programs often pass the whole
 * default config with a few changes, so a default value does not count.
 */
export function unusedOptions(pipeline: ResolvedConfig<PipelineConfig>): string[] {
  const { config } = pipeline
  const stages = wholePipeline(config)
  const used = new Set(stages.flatMap(stage => usedNames(stage, pipeline)))
  const sections = (['sft', 'reward'] as const).filter(name => !stages.includes(name))
  const initial = getDefaultConfig()
  const names = new Set([...Object.values(optionNames).flatMap(one => Object.keys(one)), ...sections])
  return [...names].filter(name => {
    const key = name as keyof PipelineConfig
    return !used.has(name) && !isDefault(config[key], initial[key])
  })
}

/** A path is whole by now; its default is not. */
function isDefault(value: unknown, initial: unknown): boolean {
  if (typeof value === 'string' && typeof initial === 'string')
    return value === initial || value.endsWith(`/${initial}`)
  return isDeepStrictEqual(value, initial)
}
