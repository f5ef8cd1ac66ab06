import { type ConfigLayer, settingsLayer } from '../train/index.js'
import { UsageError } from './flags.js'

/** `--set` as a layer over the config file; a value that cannot be parsed is a usage error. */
export function setLayer(settings: readonly string[]): ConfigLayer {
  try {
    return settingsLayer(settings)
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}
