/** Files and models of rewards: a change of one of them is another reward. */
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { moduleFiles, readConfigFile } from '../files/index.js'

export interface RewardFiles {
  /** The file itself, the modules it names, and everything that they import by a path; absolute, in order. */
  readonly files: readonly string[]
  /** Directories of reward models. */
  readonly models: readonly string[]
}

const sourcesSchema = z.looseObject({
  sources: z
    .record(
      z.string(),
      z.looseObject({ file: z.string().optional(), path: z.string().optional(), caFile: z.string().optional() }),
    )
    .optional(),
})

/**
 * Modules are read and not run: an import whose path is computed is not found, nor are packages.
 *
 * @example
 * const { files, models } = await rewardFiles('rewards.yaml')
 */
export async function rewardFiles(file: string): Promise<RewardFiles> {
  const main = resolve(file)
  if (!/\.(ya?ml|json)$/i.test(main)) return { files: await moduleFiles([main]), models: [] }
  const { sources = {} } = sourcesSchema.catch({}).parse(await readConfigFile(main))
  const named = (name: 'file' | 'path' | 'caFile'): string[] =>
    Object.values(sources).flatMap(source => (source[name] === undefined ? [] : [resolve(dirname(main), source[name])]))
  const modules = await moduleFiles(named('file'))
  return { files: [...new Set([main, ...modules, ...named('caFile')])], models: [...new Set(named('path'))] }
}
