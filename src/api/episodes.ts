/** A few episodes of a config, without training. */

import { type Report, silentReport } from '../progress/index.js'
import { locateNames } from '../source/index.js'
import {
  type ConfigLayer,
  loadDefinitions,
  type RlConfig,
  type TriedEpisode,
  trainings,
  tryEpisodes,
} from '../train/index.js'
import { attributed } from './run-training.js'

interface EpisodesStart {
  readonly config: RlConfig
  readonly origins: Readonly<Record<string, string>>
  readonly prompts: number
  readonly samples: number
  readonly report?: Report
  readonly signal: AbortSignal
}

/** The config of `rl`, of which episodes need no output. */
export async function resolveEpisodes(
  layers: readonly ConfigLayer[],
): Promise<Pick<EpisodesStart, 'config' | 'origins'>> {
  const unused = { origin: 'whetstone episode', values: { output: 'unused' } }
  const { config, origins } = trainings.rl.resolve(await loadDefinitions([unused, ...layers]))
  return { config, origins }
}

export async function* startEpisodes(start: EpisodesStart): AsyncGenerator<TriedEpisode, void> {
  const { config, origins, prompts, samples, report = silentReport, signal } = start
  const located = await attributed(origins, () =>
    locateNames(config, { options: trainings.rl.options.paths ?? [], report, signal }),
  )
  const made = tryEpisodes({ ...located, report, signal }, { prompts, samples })
  // Errors about options come with the first episode.
  for (;;) {
    const next = await attributed(origins, () => made.next())
    if (next.done) return
    yield next.value
  }
}
