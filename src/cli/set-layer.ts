import { type ConfigLayer, settingsLayer } from '../train/index.js'
import { UsageError } from './flags.js'

/** What `--set` says, as a layer over the config file; what cannot be read is the command line's mistake. */
export function setLayer(settings: readonly string[]): ConfigLayer {
  try {
    return settingsLayer(settings)
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}
