/**
 * Checks a checkpoint before a server reads it. With other shapes or a truncated file, SGLang ends and vLLM loses its weights; with missing
 * tensors, both serve a mixture of old and new weights.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Checkpoint } from '../../tensor/index.js'
import { EngineError } from './errors.js'

/** Compares names and shapes of all tensors with the served model's. Opening a file checks its length. */
export async function checkWeights(directory: string, modelDirectory: string): Promise<void> {
  const model = await Checkpoint.open(modelDirectory)
  try {
    const found = await Checkpoint.open(directory)
    try {
      const optional = (await tiesEmbeddings(modelDirectory)) ? 'lm_head.weight' : undefined
      compare(found, model, optional, directory)
    } finally {
      await found.close()
    }
  } finally {
    await model.close()
  }
}

function compare(found: Checkpoint, model: Checkpoint, optional: string | undefined, directory: string): void {
  const wrong = (what: string): never => {
    throw new EngineError(`${directory}: ${what}; no server was asked to load it`)
  }
  for (const name of model.names) {
    if (!found.has(name)) {
      if (name !== optional) wrong(`it lacks the tensor ${name} of the served model`)
      continue
    }
    const [mine, theirs] = [found.info(name).shape.join('x'), model.info(name).shape.join('x')]
    if (mine !== theirs) wrong(`${name} has the shape ${mine}, in the served model ${theirs}`)
  }
  const further = found.names.find(name => name !== optional && !model.has(name))
  if (further !== undefined) wrong(`it has a tensor ${further} that the served model lacks`)
}

/** With tied embeddings, a checkpoint may have the output head or not. */
export async function tiesEmbeddings(modelDirectory: string): Promise<boolean> {
  try {
    const config = JSON.parse(await readFile(join(modelDirectory, 'config.json'), 'utf8')) as Record<string, unknown>
    return config.tie_word_embeddings === true
  } catch {
    return false
  }
}

/** For a server that would load a checkpoint only in part. */
export function tiedHeadError(url: string, software: string): EngineError {
  return new EngineError(
    `${url}: vLLM ${software} cannot load the weights of this model: its embeddings are tied, and vLLM would keep the old output head`,
    { remedy: tiedHeadRemedy },
  )
}

export const tiedHeadRemedy =
  'Train an adapter (lora), or a model with tie_word_embeddings: false; or generate with SGLang or `whetstone serve --control`.'
