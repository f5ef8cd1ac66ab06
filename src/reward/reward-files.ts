/** Files and models of rewards: a change of one of them is another reward. */
import { moduleFiles } from '../files/index.js'
import { isHubName, type LocateOptions, locateModel, withBase } from '../source/index.js'
import { namedRewards, type RewardNames, rewardSpec } from './named-rewards.js'

interface RewardFiles {
  /** The files themselves, the modules they name, and everything that they import by a path; absolute, in order. */
  readonly files: readonly string[]
  /** Directories of reward models: of an adapter, and of its base. */
  readonly models: readonly string[]
}

/** Modules are read and not run: an import whose path is computed is not found, nor are packages. */
export async function rewardFiles(
  names: RewardNames,
  options: Pick<LocateOptions, 'commits' | 'signal'> = {},
): Promise<RewardFiles> {
  const descriptions = (await namedRewards(names)).flatMap(one => (one.kind === 'description' ? [one.path] : []))
  const spec = await rewardSpec(names)
  if ('module' in spec) return { files: await moduleFiles([spec.module]), models: [] }
  const sources = Object.values(spec.sources ?? {})
  const modules = await moduleFiles(sources.flatMap(source => (source.type === 'function' ? [source.file] : [])))
  const certificates = sources.flatMap(source =>
    source.type === 'remote' && source.caFile !== undefined ? [source.caFile] : [],
  )
  const models: string[] = []
  for (const source of sources)
    if (source.type === 'model') {
      const { directory } = await locateModel(source.path, options)
      const { model, adapter } = await withBase({ model: directory }, options)
      models.push(...(adapter === undefined ? [model] : [adapter, model]))
    }
  return { files: [...new Set([...descriptions, ...modules, ...certificates])], models: [...new Set(models)] }
}

/**
 * Fetches the reward models that are named by an id of the Hub, before anything is loaded. Gives their commits by name: with them all
 * that follows reads the same models.
 */
export async function locateRewardModels(
  names: RewardNames,
  options: Pick<LocateOptions, 'commits' | 'signal' | 'report'>,
): Promise<Record<string, string>> {
  // Loading the rewards reports their errors.
  const models = await namedRewardModels(names).catch(() => [])
  const commits: Record<string, string> = {}
  for (const { path } of models) {
    if (!isHubName(path)) continue
    const { origin } = await locateModel(path, options)
    if (origin.kind === 'hub') commits[origin.name] = origin.commit
    if (origin.kind === 'gguf') commits[origin.name] = origin.sha256
  }
  return commits
}

/** A reward model that `rewards` names, and where it is to compute. */
interface NamedRewardModel {
  readonly name: string
  readonly path: string
  readonly device?: string | undefined
  readonly dtype?: 'float32' | 'bfloat16' | 'float16' | undefined
}

export async function namedRewardModels(names: RewardNames): Promise<NamedRewardModel[]> {
  const spec = await rewardSpec(names)
  if ('module' in spec) return []
  return Object.entries(spec.sources ?? {}).flatMap(([name, source]) =>
    source.type === 'model' ? [{ name, path: source.path, device: source.device, dtype: source.dtype }] : [],
  )
}
