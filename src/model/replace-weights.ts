/** Replaces the weights of a model in use; they are checked against the model before any weight changes. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type ModelConfig, readConfig, type Weight } from '../decoder/index.js'
import { Checkpoint } from '../tensor/index.js'
import { differences } from './differences.js'
import { ModelError } from './errors.js'
import { fitToCheckpoint } from './fit-checkpoint.js'
import { tolerated } from './loading.js'
import { checkWeights } from './weights.js'

/**
 * Opens the weights of a directory. Whatever does not fit is an error: a config of another architecture, a tensor that is
 * missing, unknown or of another shape, a file that is shorter than its header says. A directory without `config.json` is
 * held against the model by its tensors alone. The caller closes it.
 */
export async function openReplacement(
  directory: string,
  { config, weights }: { config: ModelConfig; weights: readonly Weight[] },
): Promise<Checkpoint> {
  const hasConfig = existsSync(join(directory, 'config.json'))
  const theirs = await fitToCheckpoint(directory, hasConfig ? await readConfig(directory) : config)
  const differing = differences(architecture(theirs), architecture(config))
  if (differing.length > 0)
    throw new ModelError(`${directory} is not the same model as the loaded one: ${differing.join('; ')}`)
  const checkpoint = await Checkpoint.open(directory)
  try {
    checkWeights(directory, checkpoint, weights, {
      ignored: tolerated(config).ignored,
      fit: 'the model that is loaded',
    })
    return checkpoint
  } catch (error) {
    await checkpoint.close()
    throw error
  }
}

/** What the numbers of a forward pass depend on, beside the weights. */
function architecture({ decoder, head }: ModelConfig): unknown {
  const { initRange: _, ...rest } = decoder
  return JSON.parse(JSON.stringify({ ...rest, head }))
}
