/** Files and models of rewards: a change of one of them is another reward. */
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { moduleFiles, readConfigFile } from '../files/index.js'
import { type LocateOptions, locateModel } from '../source/index.js'

interface RewardFiles {
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
export async function rewardFiles(
  file: string,
  options: Pick<LocateOptions, 'commits' | 'signal'> = {},
): Promise<RewardFiles> {
  const main = resolve(file)
  if (!/\.(ya?ml|json)$/i.test(main)) return { files: await moduleFiles([main]), models: [] }
  const { sources = {} } = sourcesSchema.catch({}).parse(await readConfigFile(main))
  const named = (name: 'file' | 'caFile'): string[] =>
    Object.values(sources).flatMap(source => (source[name] === undefined ? [] : [resolve(dirname(main), source[name])]))
  const modules = await moduleFiles(named('file'))
  const models: string[] = []
  for (const name of namesOf(sources)) {
    const { directory } = await locateModel(name, { ...options, directory: dirname(main) })
    models.push(directory)
  }
  return { files: [...new Set([main, ...modules, ...named('caFile')])], models: [...new Set(models)] }
}

const namesOf = (sources: Readonly<Record<string, { path?: string | undefined }>>): string[] =>
  Object.values(sources).flatMap(({ path }) => (path === undefined ? [] : [path]))

/**
 * Fetches the reward models of a file that are named by an id of the Hub, before anything is loaded. Gives their commits by name:
 * with them all that follows reads the same models.
 */
export async function locateRewardModels(
  file: string,
  options: Pick<LocateOptions, 'commits' | 'signal' | 'report'>,
): Promise<Record<string, string>> {
  if (!/\.(ya?ml|json)$/i.test(file)) return {}
  // What is wrong with the file is said when it is loaded.
  const { sources = {} } = sourcesSchema.catch({}).parse(await readConfigFile(file).catch(() => ({})))
  const commits: Record<string, string> = {}
  for (const name of namesOf(sources)) {
    const { origin } = await locateModel(name, { ...options, directory: dirname(resolve(file)) })
    if (origin.kind === 'hub') commits[origin.name] = origin.commit
  }
  return commits
}
