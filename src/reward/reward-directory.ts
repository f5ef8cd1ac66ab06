/** The directory of a reward model, which may be that of an adapter alone. */
import { type LocateOptions, locateModel, withBase } from '../source/index.js'
import { RewardConfigError } from './errors.js'

interface RewardDirectory {
  /** The model, or the base of the adapter. */
  readonly directory: string
  readonly adapter?: string
}

/** Where the model is. A language model is refused: its head would be random, and its scores would mean nothing. */
export async function rewardDirectory(path: string, options: LocateOptions = {}): Promise<RewardDirectory> {
  // Loaded here alone: rewards without a model need no libtorch.
  const { inspectAdapter, readConfig } = await import('../model/index.js')
  const located = await locateModel(path, options)
  const { model: directory, adapter } = await withBase({ model: located.directory }, options)
  const head = adapter === undefined ? 'none' : (await inspectAdapter(adapter)).head
  if (head !== 'score' && (await readConfig(directory)).head !== 'score')
    throw new RewardConfigError(
      `${adapter ?? directory} is ${adapter === undefined ? 'a language model' : 'an adapter of a language model'}; expected a reward model (with a score head)`,
    )
  return { directory, ...(adapter === undefined ? {} : { adapter }) }
}
