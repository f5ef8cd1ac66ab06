import { resolve } from 'node:path'
import { RewardComputationEngine } from './engine.js'
import { RewardConfigError } from './errors.js'
import { loadModule } from './load-module.js'
import { readSpec } from './spec.js'

/**
 * An engine from a file: a module (.ts, .js, .mjs) that exports a reward, or a description of sources (.yaml, .json).
 *
 * @example
 * const engine = await loadRewards('rewards.yaml')
 */
export async function loadRewards(file: string): Promise<RewardComputationEngine> {
  const path = resolve(file)
  if (/\.(ya?ml|json)$/i.test(file)) return new RewardComputationEngine(await readSpec(path))
  if (!/\.[cm]?[jt]s$/i.test(file))
    throw new RewardConfigError(`${file}: expected a module (.ts, .js, .mjs) or a description (.yaml, .json)`)
  const loaded = await loadModule(path)
  switch (loaded.kind) {
    case 'engine':
      return loaded.engine
    case 'options':
      return new RewardComputationEngine(loaded.options)
    case 'source':
      return new RewardComputationEngine({ sources: [loaded.source] })
  }
}
