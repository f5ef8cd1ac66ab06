/** Replaces the weights of a model in use; they are checked against the model before any weight changes. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type ModelConfig, readConfig, type Weight, weightMap } from '../decoder/index.js'
import { Checkpoint } from '../tensor/index.js'
import { differences } from './differences.js'
import { ModelError } from './errors.js'
import { fitToCheckpoint } from './fit-checkpoint.js'
import { headOf, tolerated } from './loading.js'
import type { Role } from './outputs.js'
import { checkWeights } from './weights.js'

/**
 * Opens the weights of a directory. Whatever does not fit is an error: a config of another architecture, a tensor that is
 * missing, unknown or of another shape, a file that is shorter than its header says. A directory without `config.json` is
 * held against the model by its tensors alone. The caller closes it.
 */
export async function openReplacement(
  directory: string,
  { config, role }: { config: ModelConfig; role: Role },
): Promise<{ checkpoint: Checkpoint; map: readonly Weight[] }> {
  const hasConfig = existsSync(join(directory, 'config.json'))
  const theirs = await fitToCheckpoint(directory, hasConfig ? await readConfig(directory) : config)
  const differing = differences(architecture(theirs), architecture(config))
  if (differing.length > 0)
    throw new ModelError(`${directory} is not the same model as the loaded one: ${differing.join('; ')}`)
  // By the names of that directory, which may be the other ones of two.
  const map = weightMap(theirs.decoder, headOf(role))
  const checkpoint = await Checkpoint.open(directory)
  try {
    checkWeights(directory, checkpoint, map, {
      ignored: tolerated(config).ignored,
      fit: 'the model that is loaded',
    })
    return { checkpoint, map }
  } catch (error) {
    await checkpoint.close()
    throw error
  }
}

/** What the numbers of a forward pass depend on, beside the weights. */
function architecture({ decoder, head }: ModelConfig): unknown {
  const { initRange: _, vision, ...rest } = decoder
  const { names: __, ...tower } = vision ?? {}
  return JSON.parse(JSON.stringify({ ...rest, ...(vision && { vision: tower }), head }))
}
