/** The options that means over tokens depend on, as they were in an iteration: people may have changed the temperature. */
import { type ActRecord, actsInForce, type RunView, readActs } from '../../run/index.js'
import type { SamplingSettings } from '../../train/records.js'

const actsOf = new WeakMap<RunView, Promise<readonly ActRecord[]>>()

/** Acts are read after the iterations of a view were listed, so that they have all that those iterations had. */
export async function settingsAt(view: RunView, iteration: number): Promise<SamplingSettings> {
  const { directory, config } = view
  const settings = (config.config ?? {}) as SamplingSettings
  const known = actsOf.get(view) ?? readActs(directory).then(acts => actsInForce(acts, config.changes))
  actsOf.set(view, known)
  const set = (await known).findLast(
    ({ from, act }) => from <= iteration && act.act === 'set' && act.option === 'temperature',
  )
  return typeof set?.act.value === 'number' ? { ...settings, temperature: set.act.value } : settings
}
