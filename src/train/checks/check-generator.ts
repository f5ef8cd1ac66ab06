/** Checks of a generator before any model is loaded. */
import { InputError } from '../../errors/index.js'
import { findCommand, installedVersion } from '../../launch/index.js'
import { EngineError, inspectServers, keepsTiedHead, tiedHeadError } from '../../rollout/index.js'
import type { GeneratorConfig } from '../config/generator.js'

/** What a run will give its servers after every iteration. */
interface WeightsForServers {
  /** `adapter`: over the servers' own weights. */
  readonly as: 'checkpoint' | 'adapter'
  /** Of the model's config. */
  readonly tiedEmbeddings: boolean
}

/** Checks the key, the program of a server to start, and running servers. `weights`: of a training. */
export async function checkGenerator(config: GeneratorConfig, weights?: WeightsForServers): Promise<void> {
  const { type, urls, command, servedModelName: model } = config
  if (type === 'local' || typeof type !== 'string') return
  const apiKey = keyOf(config)
  const loadsTied = weights?.as === 'checkpoint' && weights.tiedEmbeddings
  if (urls) {
    for (const { url, software, control, ...server } of await inspectServers({ type, urls, apiKey, model })) {
      if (weights && typeof control === 'object')
        throw new EngineError(`${url}: weights cannot be changed: ${control.missing}`)
      if (loadsTied && server.keepsTiedHead) throw tiedHeadError(url, software)
    }
    return
  }
  const found = await findCommand({ type, command: command === undefined ? undefined : [command], env: process.env })
  if (type !== 'vllm' || !loadsTied) return
  const software = await installedVersion(found[0], 'vllm')
  if (software !== undefined && keepsTiedHead(software)) throw tiedHeadError(found[0], software)
}

export function keyOf({ apiKeyEnv }: Pick<GeneratorConfig, 'apiKeyEnv'>): string | undefined {
  if (apiKeyEnv === undefined) return undefined
  const key = process.env[apiKeyEnv]
  if (!key) throw new InputError(`generator.apiKeyEnv: the environment variable ${apiKeyEnv} is not set`)
  return key
}
